/**
 * Copies all stores of one engine to another, row by row and in order, and compares both afterwards. Nobody else may write
 * to either meanwhile. A copy that was cut short goes on where it was: rows arrive in order, so the last one tells.
 *
 * While it is not finished the target holds a store `move`, by which a server knows not to start on it; what is in it says
 * which stores were compared and found equal.
 */
import { createHash } from 'node:crypto'
import { Failure, isFailure } from '../base/errors.ts'
import type { Engine, Entry, Range, Store, StoreId } from './engine.ts'
import { keyAfter } from './key-order.ts'

export const MOVE_STORE = 'move'
const SOURCE = Buffer.of(0x01)
const BATCH = { batchCountMax: 2000, batchBytesMax: 4 * 1024 * 1024 }
const TRIALS = 2

export interface CopyProgress {
  readonly storesDone: number
  readonly storesTotal: number
  readonly bytesDone: number
  /** An estimate. */
  readonly bytesTotal: number
}

export interface CopyParts {
  readonly source: Engine
  readonly target: Engine
  /** Names the source, so that a copy is not continued from another one. */
  readonly sourceName: string
  /** Stores that stay behind. */
  readonly leaveOut: ReadonlySet<StoreId>
  readonly progress: (progress: CopyProgress) => void
}

export interface CopyReport {
  readonly stores: number
  readonly rows: number
  readonly bytes: number
}

interface Digest {
  readonly rows: number
  readonly bytes: number
  readonly sha256: string
}

const EVERYTHING: Range = { start: Buffer.alloc(0), end: Buffer.alloc(1910, 0xff) }

export async function copyStores(parts: CopyParts): Promise<CopyReport> {
  const { source, target, leaveOut } = parts
  const ids = (await source.listStores()).filter(id => !leaveOut.has(id)).sort()
  await beginMove(parts)
  await removeOthers(target, new Set([...ids, ...leaveOut, MOVE_STORE]))
  const copy = new Copy(parts, ids.length)
  await copy.measure(ids)
  const report = { stores: 0, rows: 0, bytes: 0 }
  for (const id of ids) {
    const { rows, bytes } = await copy.copyStore(id)
    report.stores++
    report.rows += rows
    report.bytes += bytes
  }
  return report
}

/** From now on a server may start on the target. */
export const finishMove = (target: Engine): Promise<void> => target.deleteStore(MOVE_STORE)

export const isMoveUnfinished = async (engine: Engine): Promise<boolean> =>
  (await engine.listStores()).includes(MOVE_STORE)

/** Makes sure that the target is empty, or what an earlier run from the same source left. */
async function beginMove({ target, sourceName, leaveOut }: CopyParts): Promise<void> {
  const name = Buffer.from(sourceName)
  if (await isMoveUnfinished(target)) {
    const before = await target.store(MOVE_STORE).get(SOURCE)
    if (before === undefined || before.equals(name)) return
    refuse(`a move from ${before} to it is not finished: finish that one, or use another target`)
  }
  const present = (await target.listStores()).filter(id => !leaveOut.has(id))
  if (present.length > 0) refuse('it holds data already: use an empty one')
  const store = await target.createStore(MOVE_STORE)
  await store.write(function* (tx) {
    tx.put(SOURCE, name)
  })
}

function refuse(reason: string): never {
  throw new Failure('request_invalid', { reason: `the target cannot be used: ${reason}` })
}

/** What an earlier run copied and the source has no more. */
async function removeOthers(target: Engine, kept: ReadonlySet<StoreId>): Promise<void> {
  for (const id of await target.listStores()) if (!kept.has(id)) await target.deleteStore(id)
}

class Copy {
  readonly #parts: CopyParts
  readonly #storesTotal: number
  readonly #sizes = new Map<StoreId, number>()
  #storesDone = 0
  #bytesDone = 0
  #bytesTotal = 0

  constructor(parts: CopyParts, storesTotal: number) {
    this.#parts = parts
    this.#storesTotal = storesTotal
  }

  async measure(ids: readonly StoreId[]): Promise<void> {
    for (const id of ids) {
      const { liveBytes } = await this.#parts.source.store(id).size()
      this.#sizes.set(id, liveBytes)
      this.#bytesTotal += liveBytes
    }
  }

  async copyStore(id: StoreId): Promise<Digest> {
    const [source, target] = [this.#parts.source.store(id), this.#parts.target.store(id)]
    for (let trial = 1; ; trial++) {
      const startBytes = this.#bytesDone
      const wanted = await digestOf(source)
      if (!(await this.#isVerified(id, wanted))) {
        await ensure(this.#parts.target, id)
        await this.#copyRows(source, target)
        const found = await digestOf(target)
        if (found.sha256 === wanted.sha256) await this.#setVerified(id, wanted)
        else if (trial === TRIALS) throw differs(id, wanted, found)
        else {
          // An earlier run copied rows that the source has changed since.
          await this.#parts.target.deleteStore(id)
          this.#bytesDone = startBytes
          continue
        }
      }
      this.#storesDone++
      this.#bytesDone = startBytes + (this.#sizes.get(id) ?? 0)
      this.#tell()
      return wanted
    }
  }

  async #copyRows(source: Store, target: Store): Promise<void> {
    const last = (await target.read(tx => tx.scan(EVERYTHING, { limit: 1, reverse: true })))[0]
    const start = last === undefined ? EVERYTHING.start : keyAfter(last.key)
    for await (const rows of source.scan({ start, end: EVERYTHING.end }, BATCH)) {
      await target.write(function* (tx) {
        for (const { key, value } of rows) tx.put(key, value)
      })
      this.#bytesDone += bytesOf(rows)
      this.#tell()
    }
  }

  #tell(): void {
    this.#parts.progress({
      storesDone: this.#storesDone,
      storesTotal: this.#storesTotal,
      bytesDone: Math.min(this.#bytesDone, this.#bytesTotal),
      bytesTotal: this.#bytesTotal,
    })
  }

  async #isVerified(id: StoreId, { sha256 }: Digest): Promise<boolean> {
    const known = await this.#parts.target.store(MOVE_STORE).get(markOf(id))
    return known?.toString() === sha256
  }

  async #setVerified(id: StoreId, { sha256 }: Digest): Promise<void> {
    await this.#parts.target.store(MOVE_STORE).write(function* (tx) {
      tx.put(markOf(id), Buffer.from(sha256))
    })
  }
}

const markOf = (id: StoreId): Buffer => Buffer.from(`\x02${id}`)

async function ensure(engine: Engine, id: StoreId): Promise<void> {
  try {
    await engine.createStore(id)
  } catch (thrown) {
    if (!isFailure(thrown, 'store_exists')) throw thrown
  }
}

async function digestOf(store: Store): Promise<Digest> {
  const hash = createHash('sha256')
  const lengths = Buffer.alloc(8)
  let count = 0
  let bytes = 0
  for await (const rows of store.scan(EVERYTHING, BATCH)) {
    count += rows.length
    bytes += bytesOf(rows)
    for (const { key, value } of rows) {
      lengths.writeUInt32BE(key.length, 0)
      lengths.writeUInt32BE(value.length, 4)
      hash.update(lengths).update(key).update(value)
    }
  }
  return { rows: count, bytes, sha256: hash.digest('hex') }
}

const bytesOf = (rows: readonly Entry[]): number =>
  rows.reduce((sum, { key, value }) => sum + key.length + value.length, 0)

const differs = (id: StoreId, wanted: Digest, found: Digest): Failure =>
  new Failure('storage_corrupt', {
    subject: id,
    reason: `store ${id} differs after copying (${wanted.rows} rows, ${found.rows} copied): does a server use one of them?`,
  })
