/**
 * The engine port over PostgreSQL and what speaks its protocol: many nodes, one shared set of stores. All rows of all
 * stores are in one table (statements.ts); what a write promises is in writer.ts, what a read promises in reader.ts.
 *
 * Nothing but plain SQL, row locks and the protocol is asked of the server: no extension, sequence, advisory lock or
 * LISTEN. Deleting a store takes its head away, at once and for everybody; its rows go in the background, in slices.
 */
import { randomBytes } from 'node:crypto'
import { Failure } from '../../base/errors.ts'
import { getOrAdd } from '../../base/get-or-add.ts'
import type {
  Engine,
  Entry,
  Key,
  Range,
  ReadTx,
  ScanOptions,
  Steps,
  Store,
  StoreId,
  StoreSize,
  WriteTx,
} from '../engine.ts'
import { scanBatches } from '../scan-batches.ts'
import type { Call, Row } from './connection.ts'
import { Connections } from './connections.ts'
import { failureOf, ServerError } from './postgres-errors.ts'
import { Reader } from './reader.ts'
import { RETRY_MS, type RetryRules, retrying } from './retry.ts'
import { openConnection, prepareSchema } from './schema.ts'
import { readServerAddress, type ServerAddress } from './server-address.ts'
import { Statements } from './statements.ts'
import { int8, readInt8 } from './wire-format.ts'
import { Writer } from './writer.ts'

const CLEARED_AT_ONCE = 5000
const CLEAR_MS = 120_000

export interface PostgresEngineOptions {
  /** `postgres://user:password@host/database`; see server-address.ts. */
  readonly address: string
  /** Clears what crashed processes left behind. */
  readonly sweep?: boolean
  /** How long an operation is tried again while the server is away. */
  readonly retryMs?: number
}

export class PostgresEngine implements Engine {
  readonly name = 'postgres'
  readonly limits = {
    keyBytesMax: 1900,
    valueBytesMax: 64 * 1024 * 1024,
    transactionBytesMax: 256 * 1024 * 1024,
  }
  readonly supports = { manyProcesses: true, manyNodes: true, persistence: true }
  readonly address: ServerAddress
  readonly #statements: Statements
  readonly #connections: Connections
  readonly #rules: RetryRules
  readonly #reader: Reader
  readonly #writers = new Map<StoreId, Writer>()
  #collecting: Promise<void> | undefined
  #isGarbageLeft = false
  #closing: Promise<void> | undefined

  static async open(options: PostgresEngineOptions): Promise<PostgresEngine> {
    const address = readServerAddress(options.address)
    try {
      await prepareSchema(address)
    } catch (thrown) {
      throw failureOf(thrown, address.shown)
    }
    const engine = new PostgresEngine(address, options.retryMs ?? RETRY_MS)
    if (options.sweep === true) {
      await engine.#run(engine.#statements.forgetOldCommits())
      engine.#collectGarbage()
    }
    return engine
  }

  private constructor(address: ServerAddress, totalMs: number) {
    this.address = address
    this.#statements = new Statements(address.schema)
    this.#connections = new Connections(() => openConnection(address), address.connectionsMax)
    const isClosing = (): boolean => this.#closing !== undefined
    this.#rules = { server: address.shown, isClosing, totalMs }
    this.#reader = new Reader(this.#connections, this.#statements, this.#rules)
  }

  async createStore(id: StoreId): Promise<Store> {
    this.#assertOpen()
    for (;;) {
      // Its number was never used before and never will be again, so nobody meets rows of an earlier life.
      const number = randomBytes(8).readBigInt64BE() >> 2n
      try {
        const [made] = await this.#run(this.#statements.createStore(id, int8(number)))
        // After a lost answer the store may be the one we made ourselves.
        const row = made ?? (await this.#run(this.#statements.describe(id)))[0]
        if (row?.[0] === undefined) continue
        if (readInt8(row[0]) !== number) throw new Failure('store_exists', { subject: id })
        return this.store(id)
      } catch (thrown) {
        if (!isNumberTaken(thrown)) throw thrown
      }
    }
  }

  store(id: StoreId): Store {
    return new PostgresStore(id, this.#reader, {
      assertOpen: () => this.#assertOpen(),
      write: work => this.#writerOf(id).write(work),
      size: () => this.#size(id),
    })
  }

  async deleteStore(id: StoreId): Promise<void> {
    this.#assertOpen()
    await this.#run(this.#statements.deleteStore(id))
    this.#collectGarbage()
  }

  async listStores(): Promise<StoreId[]> {
    return (await this.versions()).map(([id]) => id)
  }

  /** Every store with a number that rises with each of its commits. */
  async versions(): Promise<[id: StoreId, version: bigint][]> {
    this.#assertOpen()
    const rows = await this.#run(this.#statements.stores())
    return rows.map(row => [String(row[0]), readInt8(row[1] as Buffer)])
  }

  /** Tells all who listen on the channel, where the server knows how to. */
  async say(channel: string, payload: string): Promise<void> {
    this.#assertOpen()
    await this.#run(this.#statements.say(channel, payload))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#writers.values()].map(writer => writer.quiet()))
    await this.#collecting
    await this.#connections.close()
  }

  #writerOf(id: StoreId): Writer {
    return getOrAdd(this.#writers, id, () => {
      const connections = this.#connections
      const parts = { id, connections, statements: this.#statements, rules: this.#rules }
      const writer: Writer = new Writer(parts, () => {
        if (this.#writers.get(id) === writer) this.#writers.delete(id)
      })
      return writer
    })
  }

  async #size(id: StoreId): Promise<StoreSize> {
    const [row] = await this.#run(this.#statements.describe(id))
    if (row === undefined) throw new Failure('store_missing', { subject: id })
    const bytes = Number(readInt8(row[1] as Buffer))
    return { fileBytes: bytes, liveBytes: bytes }
  }

  async #run(call: Call, timeoutMs?: number): Promise<readonly Row[]> {
    const [result] = await retrying(this.#rules, () =>
      this.#connections.use('read', connection => connection.run([call], timeoutMs)),
    )
    return result?.rows ?? []
  }

  #collectGarbage(): void {
    this.#isGarbageLeft = true
    this.#collecting ??= this.#collect().finally(() => {
      this.#collecting = undefined
    })
  }

  /** What is left when this fails, or ends with the process, is for the next start. */
  async #collect(): Promise<void> {
    while (this.#isGarbageLeft && this.#closing === undefined) {
      this.#isGarbageLeft = false
      try {
        await this.#collectAll()
      } catch {
        return
      }
    }
  }

  async #collectAll(): Promise<void> {
    const statements = this.#statements
    while (this.#closing === undefined) {
      const [row] = await this.#run(statements.garbage())
      const store = row?.[0]
      if (store === undefined) return
      while (this.#closing === undefined) {
        const cleared = await this.#clearSome(store)
        if (cleared < CLEARED_AT_ONCE) break
      }
      if (this.#closing === undefined) await this.#run(statements.forgetGarbage(store))
    }
  }

  async #clearSome(store: Buffer): Promise<number> {
    const call = this.#statements.clearRows(store, CLEARED_AT_ONCE)
    const [result] = await retrying(this.#rules, () =>
      this.#connections.use('write', connection => connection.run([call], CLEAR_MS)),
    )
    return Number(/\d+$/.exec(result?.tag ?? '')?.[0] ?? 0)
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new Failure('engine_closed')
  }
}

interface StoreParts {
  readonly assertOpen: () => void
  write<T>(work: (tx: WriteTx) => Steps<T>): Promise<T>
  size(): Promise<StoreSize>
}

class PostgresStore implements Store {
  readonly id: StoreId
  readonly #reader: Reader
  readonly #parts: StoreParts

  constructor(id: StoreId, reader: Reader, parts: StoreParts) {
    this.id = id
    this.#reader = reader
    this.#parts = parts
  }

  get(key: Key): Promise<Buffer | undefined> {
    this.#parts.assertOpen()
    return this.#reader.get(this.id, key)
  }

  async read<T>(work: (tx: ReadTx) => Steps<T>): Promise<T> {
    this.#parts.assertOpen()
    return this.#reader.read(this.id, work)
  }

  async write<T>(work: (tx: WriteTx) => Steps<T>): Promise<T> {
    this.#parts.assertOpen()
    return this.#parts.write(work)
  }

  scan(range: Range, options?: ScanOptions): AsyncIterable<Entry[]> {
    return scanBatches(
      async (rest, batch) => {
        this.#parts.assertOpen()
        return this.#reader.scan(this.id, rest, batch)
      },
      range,
      options,
    )
  }

  async size(): Promise<StoreSize> {
    this.#parts.assertOpen()
    return this.#parts.size()
  }

  /** The server gives back space by itself (autovacuum); there is nothing to be done for a single store. */
  async compact(progress?: (done: number, total: number) => void): Promise<void> {
    await this.size()
    progress?.(1, 1)
  }
}

const isNumberTaken = (thrown: unknown): boolean =>
  thrown instanceof Failure && thrown.cause instanceof ServerError && thrown.cause.code === '23505'
