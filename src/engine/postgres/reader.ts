/**
 * Reads outside of writes. All gets of a turn of the event loop, whoever asks and of whichever store, travel together
 * (`get-batch.ts`); while some are on their way more gather for the next trip. A scan is a statement of its own.
 *
 * A statement sees one state of the store and says which (the version in its head). So a work of several steps needs no
 * transaction: when all its answers carry the same version they come from the same state. When they do not, somebody
 * wrote meanwhile; the work runs again, then in a transaction with a snapshot.
 */
import { Failure } from '../../base/errors.ts'
import type { BatchOptions, Entry, Key, Range, ReadTx, Steps, StoreId } from '../engine.ts'
import { compareKeys } from '../key-order.ts'
import type { Connection, Row } from './connection.ts'
import type { Connections } from './connections.ts'
import { type Got, getBatch, type Wanted } from './get-batch.ts'
import { type Answerer, drive, guarded, WishingTx, WorkThrew } from './read-steps.ts'
import { type RetryRules, retrying } from './retry.ts'
import type { Statements } from './statements.ts'
import { readInt8 } from './wire-format.ts'

/** Keys in one trip. */
const KEYS_MAX = 2000
/** Trips of gets under way at once: more would make each of them smaller, unless the others are large. */
const GETS_RUNNING_MAX = 3
const LARGE_COUNT = 200

interface WaitingGet extends Wanted {
  readonly resolve: (got: Got) => void
  readonly reject: (thrown: unknown) => void
}

class Changed extends Error {}

export class Reader {
  readonly #connections: Connections
  readonly #statements: Statements
  readonly #rules: RetryRules
  #waiting: WaitingGet[] = []
  #isScheduled = false
  #running = 0
  #runningKeys = 0

  constructor(connections: Connections, statements: Statements, rules: RetryRules) {
    this.#connections = connections
    this.#statements = statements
    this.#rules = rules
  }

  /** As few promises as there can be: this is what most requests wait for. */
  get(id: StoreId, key: Key): Promise<Buffer | undefined> {
    return new Promise((resolve, reject) => {
      this.#wait({ id, keys: [key], resolve: ({ values }) => resolve(values[0]), reject })
    })
  }

  async scan(id: StoreId, range: Range, options: BatchOptions): Promise<Entry[]> {
    return (await this.#scan(id, range, options)).entries
  }

  async read<T>(id: StoreId, work: (tx: ReadTx) => Steps<T>): Promise<T> {
    try {
      const answerer = new VersionedAnswers(
        keys => this.#getMany(id, keys),
        (range, options) => this.#scan(id, range, options),
      )
      const result = await drive(work(new WishingTx()), answerer)
      // A work that asked for nothing still needs its store.
      if (!answerer.hasAsked) await this.#getMany(id, [PROBE])
      return result
    } catch (thrown) {
      if (!(thrown instanceof Changed)) throw thrown
      return this.#readSnapshot(id, work)
    }
  }

  async #readSnapshot<T>(id: StoreId, work: (tx: ReadTx) => Steps<T>): Promise<T> {
    const outcome = await retrying(this.#rules, () =>
      this.#connections.use('read', async connection => {
        const statements = this.#statements
        await connection.run([statements.beginSnapshot()])
        try {
          const answerer = answersOn(connection, statements, id)
          return { value: await drive(guarded(work, new WishingTx()), answerer) }
        } catch (thrown) {
          if (thrown instanceof WorkThrew) return { thrown: thrown.cause }
          throw thrown
        } finally {
          // A connection that cannot even end a transaction is lost, and with it the transaction.
          await connection.run([statements.rollback()]).catch(() => connection.destroy())
        }
      }),
    )
    if ('thrown' in outcome) throw outcome.thrown
    return outcome.value
  }

  async #scan(id: StoreId, range: Range, options: BatchOptions) {
    const [result] = await retrying(this.#rules, () =>
      this.#connections.use('read', connection =>
        connection.run([this.#statements.scan(id, range, options)]),
      ),
    )
    return entriesOf(id, result?.rows ?? [], options.reverse ?? false)
  }

  #getMany(id: StoreId, keys: readonly Key[]): Promise<Got> {
    return new Promise((resolve, reject) => this.#wait({ id, keys, resolve, reject }))
  }

  #wait(get: WaitingGet): void {
    this.#waiting.push(get)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return
    const isCrowded = this.#runningKeys < LARGE_COUNT * this.#running
    if (this.#running >= GETS_RUNNING_MAX || isCrowded) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const batch = this.#takeBatch()
      const keyCount = batch.reduce((sum, { keys }) => sum + keys.length, 0)
      this.#running++
      this.#runningKeys += keyCount
      void this.#runBatch(batch).finally(() => {
        this.#running--
        this.#runningKeys -= keyCount
        this.#schedule()
      })
      this.#schedule()
    })
  }

  #takeBatch(): WaitingGet[] {
    let count = 0
    let length = 0
    for (const { keys } of this.#waiting) {
      if (length > 0 && count + keys.length > KEYS_MAX) break
      count += keys.length
      length++
    }
    return this.#waiting.splice(0, length)
  }

  async #runBatch(batch: readonly WaitingGet[]): Promise<void> {
    try {
      const answers = await retrying(this.#rules, () =>
        this.#connections.use('read', connection => getBatch(connection, this.#statements, batch)),
      )
      for (const [at, { id, resolve, reject }] of batch.entries()) {
        const got = answers[at]
        if (got === undefined) reject(missing(id))
        else resolve(got)
      }
    } catch (thrown) {
      for (const { reject } of batch) reject(thrown)
    }
  }
}

/** Any key: only whether the store is there matters. */
const PROBE = Buffer.of(0)

const missing = (id: StoreId): Failure => new Failure('store_missing', { subject: id })

function entriesOf(id: StoreId, rows: readonly Row[], reverse: boolean) {
  const version = rows[0]?.[0]
  if (version === undefined) throw missing(id)
  const entries: Entry[] = []
  let isOrdered = true
  for (const [, key, value] of rows) {
    if (key === undefined || value === undefined) continue
    const last = entries.at(-1)
    if (last !== undefined && compareKeys(last.key, key) > 0 !== reverse) isOrdered = false
    entries.push({ key, value })
  }
  // The order of a joined subquery is kept by every server we know and promised by none.
  if (!isOrdered) entries.sort((a, b) => compareKeys(a.key, b.key) * (reverse ? -1 : 1))
  return { version: readInt8(version), entries }
}

/** Answers inside a transaction, whose isolation is the transaction's. */
export const answersOn = (
  connection: Connection,
  statements: Statements,
  id: StoreId,
): Answerer => ({
  async get(keys) {
    const values: (Buffer | undefined)[] = []
    for (let at = 0; at < keys.length; at += KEYS_MAX) {
      const part = keys.slice(at, at + KEYS_MAX)
      const [got] = await getBatch(connection, statements, [{ id, keys: part }])
      if (got === undefined) throw missing(id)
      values.push(...got.values)
    }
    return values
  },
  async scan(range, options) {
    const [result] = await connection.run([statements.scan(id, range, options)])
    return entriesOf(id, result?.rows ?? [], options.reverse ?? false).entries
  },
})

/** Answers of single statements, as long as they are all about one version. */
class VersionedAnswers implements Answerer {
  readonly #get: (keys: readonly Key[]) => Promise<Got>
  readonly #scan: (
    range: Range,
    options: BatchOptions,
  ) => Promise<{ version: bigint; entries: Entry[] }>
  #version: bigint | undefined

  constructor(
    get: (keys: readonly Key[]) => Promise<Got>,
    scan: (range: Range, options: BatchOptions) => Promise<{ version: bigint; entries: Entry[] }>,
  ) {
    this.#get = get
    this.#scan = scan
  }

  get hasAsked(): boolean {
    return this.#version !== undefined
  }

  async get(keys: readonly Key[]): Promise<(Buffer | undefined)[]> {
    const { version, values } = await this.#get(keys)
    this.#check(version)
    return values
  }

  async scan(range: Range, options: BatchOptions): Promise<Entry[]> {
    const { version, entries } = await this.#scan(range, options)
    this.#check(version)
    return entries
  }

  #check(version: bigint): void {
    if (this.#version !== undefined && this.#version !== version) throw new Changed()
    this.#version = version
  }
}
