/**
 * Which nodes share an engine: each writes its name and a sign of life into a store of that engine. One that stops takes
 * its name away; one that died stays known, and counts as down once its sign is old. Clocks of the machines may differ by
 * a few seconds, not by minutes.
 */
import { Failure, isFailure } from '../base/errors.ts'
import type { Members } from '../core/operations/operations.ts'
import type { Engine, Range, Store } from '../engine/engine.ts'

export const CLUSTER_STORE = 'cluster'
/** `02` + name of a lease. */
export const leaseKey = (name: string): Buffer => Buffer.from(`\x02${name}`)

const NODE = '\x01'
const NODES: Range = { start: Buffer.of(0x01), end: Buffer.of(0x02) }
const SIGN_MS = 5000
const DOWN_MS = 20_000
/** Nobody waits for a node that has been away for so long. */
const FORGOTTEN_MS = 7 * 86_400_000
const NODES_MAX = 1000

interface NodeRecord {
  /** Of its data folder: the same node, started again. */
  readonly id: string
  readonly startedMs: number
  readonly seenMs: number
}

export interface RegistryParts {
  readonly engine: Engine
  readonly name: string
  readonly id: string
  readonly clock: () => number
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void
}

export class NodeRegistry {
  readonly #parts: RegistryParts
  readonly #store: Store
  readonly #startedMs: number
  #timer: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: RegistryParts) {
    this.#parts = parts
    this.#store = parts.engine.store(CLUSTER_STORE)
    this.#startedMs = parts.clock()
  }

  static async prepare(engine: Engine): Promise<void> {
    try {
      await engine.createStore(CLUSTER_STORE)
    } catch (thrown) {
      if (!isFailure(thrown, 'store_exists')) throw thrown
    }
  }

  /** Fails when another node of this name is up. */
  async join(): Promise<void> {
    if (!(await this.#sign())) {
      const reason = `a node named ${this.#parts.name} is up already; choose another with --node-name`
      throw new Failure('config_invalid', { subject: this.#parts.name, reason })
    }
    this.#timer = setInterval(() => {
      this.#last = this.#sign().catch(error => {
        this.#parts.warn('this node could not give a sign of life', { error: String(error) })
      })
    }, SIGN_MS)
    this.#timer.unref()
  }

  async leave(): Promise<void> {
    clearInterval(this.#timer)
    await this.#last
    const key = nodeKey(this.#parts.name)
    await this.#store.write(function* (tx) {
      tx.delete(key)
    })
  }

  async members(): Promise<Members> {
    const { clock, name } = this.#parts
    const nowMs = clock()
    const rows = await this.#store.read(tx => tx.scan(NODES, { limit: NODES_MAX }))
    const records = rows.map(({ key, value }) => ({
      name: key.toString('utf8', 1),
      seenMs: decode(value).seenMs,
    }))
    const alive = records.filter(each => each.name === name || nowMs - each.seenMs < DOWN_MS)
    return { known: records.map(each => each.name), alive: alive.map(each => each.name) }
  }

  /** False when the name is somebody else's. */
  #sign(): Promise<boolean> {
    const { name, id, clock } = this.#parts
    const startedMs = this.#startedMs
    return this.#store.write(function* (tx) {
      const seenMs = clock()
      for (const { key, value } of yield* tx.scan(NODES, { limit: NODES_MAX })) {
        const other = decode(value)
        const isOurs = key.toString('utf8', 1) === name
        if (isOurs && other.id !== id && seenMs - other.seenMs < DOWN_MS) return false
        if (!isOurs && seenMs - other.seenMs > FORGOTTEN_MS) tx.delete(key)
      }
      const record: NodeRecord = { id, startedMs, seenMs }
      tx.put(nodeKey(name), Buffer.from(JSON.stringify(record)))
      return true
    })
  }
}

const nodeKey = (name: string): Buffer => Buffer.from(`${NODE}${name}`)
const decode = (bytes: Buffer): NodeRecord => JSON.parse(bytes.toString()) as NodeRecord
