/**
 * Writes of one store in this process, one after the other; those that wait go together in one transaction. It begins by
 * locking the store's head row, so the writes of all processes and nodes have one order, and ends by noting a token of
 * its own. Each work sees what those before it in the group changed; one that throws leaves nothing.
 *
 * When the connection is lost while a commit is under way nobody knows whether it happened. The next attempt takes the
 * lock first: the lost transaction held it, so by then it is over, and its token is there or is not. So nothing is ever
 * written twice, and nothing is lost that was reported done.
 */
import { randomBytes } from 'node:crypto'
import { Failure } from '../../base/errors.ts'
import type { Key, Range, Steps, StoreId, WriteTx } from '../engine.ts'
import { ChangingTx, PendingChanges } from './changes.ts'
import type { Call, Connection } from './connection.ts'
import type { Connections } from './connections.ts'
import { kindOf } from './postgres-errors.ts'
import { type Answerer, drive, guarded, WorkThrew } from './read-steps.ts'
import { answersOn } from './reader.ts'
import { type RetryRules, retrying } from './retry.ts'
import type { Statements } from './statements.ts'

const GROUP_COUNT_MAX = 200
const GROUP_BYTES_MAX = 16 * 1024 * 1024
/** What travels at once. */
const TRIP_BYTES_MAX = 8 * 1024 * 1024
/** Deleting a range may take its time. */
const CHANGE_MS = 600_000
const WAITING_MAX = 50_000

interface Waiting {
  readonly work: (tx: WriteTx) => Steps<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (thrown: unknown) => void
}

type Outcome = { readonly value: unknown } | { readonly thrown: unknown }

/** A commit that was sent and not answered. */
interface Unanswered {
  readonly connection: Uint8Array
  readonly token: Uint8Array
  readonly outcomes: readonly Outcome[]
}

export interface WriterParts {
  readonly id: StoreId
  readonly connections: Connections
  readonly statements: Statements
  readonly rules: RetryRules
}

export class Writer {
  readonly #parts: WriterParts
  readonly #onIdle: () => void
  #waiting: Waiting[] = []
  #isRunning = false
  readonly #quiet: (() => void)[] = []

  constructor(parts: WriterParts, onIdle: () => void) {
    this.#parts = parts
    this.#onIdle = onIdle
  }

  write<T>(work: (tx: WriteTx) => Steps<T>): Promise<T> {
    if (this.#waiting.length >= WAITING_MAX) return Promise.reject(new Failure('engine_busy'))
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject })
      if (!this.#isRunning) void this.#run()
    })
  }

  /** Resolves when nothing waits any more. */
  quiet(): Promise<void> {
    if (!this.#isRunning) return Promise.resolve()
    return new Promise(resolve => this.#quiet.push(resolve))
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, GROUP_COUNT_MAX)
      try {
        const outcomes = await new GroupCommit(this.#parts, group).run()
        for (const [at, { resolve, reject }] of group.entries()) {
          const outcome = outcomes[at]
          // Those that found no room any more come first next time.
          if (outcome === undefined) this.#waiting.unshift(...group.slice(at))
          if (outcome === undefined) break
          if ('thrown' in outcome) reject(outcome.thrown)
          else resolve(outcome.value as never)
        }
      } catch (thrown) {
        for (const { reject } of group) reject(thrown)
      }
    }
    this.#isRunning = false
    this.#onIdle()
    for (const resolve of this.#quiet.splice(0)) resolve()
  }
}

class GroupCommit {
  readonly #parts: WriterParts
  readonly #group: readonly Waiting[]
  #unanswered: Unanswered | undefined

  constructor(parts: WriterParts, group: readonly Waiting[]) {
    this.#parts = parts
    this.#group = group
  }

  /** One outcome for each work that was run: at least one. */
  run(): Promise<readonly Outcome[]> {
    const { connections, rules } = this.#parts
    return retrying(rules, () =>
      connections.use('write', async connection => {
        try {
          return await this.#attempt(connection)
        } catch (thrown) {
          await this.#rollBack(connection)
          throw thrown
        }
      }),
    )
  }

  async #attempt(connection: Connection): Promise<readonly Outcome[]> {
    const { statements, id } = this.#parts
    const before = this.#unanswered
    const calls = [statements.begin(), statements.lock(id)]
    if (before !== undefined) calls.push(statements.findCommit(before.connection, before.token))
    const [, locked, found] = await connection.run(calls)
    if (before !== undefined && (found?.rows.length ?? 0) > 0) {
      await this.#rollBack(connection)
      return before.outcomes
    }
    this.#unanswered = undefined
    const store = locked?.rows[0]?.[0]
    if (store === undefined) throw new Failure('store_missing', { subject: id })
    const pending = new PendingChanges()
    const outcomes = await this.#runWorks(connection, store, pending)
    const changes = pending.take(statements, store)
    if (changes.length === 0 && pending.bytes === 0) await this.#rollBack(connection)
    else await this.#commit(connection, changes, outcomes)
    return outcomes
  }

  async #runWorks(
    connection: Connection,
    store: Uint8Array,
    pending: PendingChanges,
  ): Promise<Outcome[]> {
    const { statements, id } = this.#parts
    const inner = answersOn(connection, statements, id)
    const flush = () => send(connection, pending.take(statements, store))
    const answerer = answersOver(inner, pending, flush)
    const outcomes: Outcome[] = []
    for (const { work } of this.#group) {
      if (outcomes.length > 0 && pending.bytes >= GROUP_BYTES_MAX) break
      const tx = new ChangingTx()
      try {
        const value = await drive(guarded(work, tx), answerer)
        pending.add(tx.changes)
        outcomes.push({ value })
      } catch (thrown) {
        if (!(thrown instanceof WorkThrew)) throw thrown
        outcomes.push({ thrown: thrown.cause })
      }
    }
    return outcomes
  }

  async #commit(
    connection: Connection,
    changes: readonly Call[],
    outcomes: readonly Outcome[],
  ): Promise<void> {
    const { statements } = this.#parts
    const token = randomBytes(12)
    const rest = await sendAllButLast(connection, changes)
    const last = [...rest, statements.noteCommit(connection.id, token), statements.commit()]
    try {
      const results = await connection.run(last, CHANGE_MS)
      if (results.at(-1)?.tag !== 'COMMIT') throw new Failure('unexpected', { reason: 'no commit' })
    } catch (thrown) {
      if (kindOf(thrown) === 'lost') {
        this.#unanswered = { connection: connection.id, token, outcomes }
      }
      throw thrown
    }
  }

  async #rollBack(connection: Connection): Promise<void> {
    if (connection.isLost) return
    // A connection that cannot end its transaction is of no use to the next.
    await connection.run([this.#parts.statements.rollback()]).catch(() => connection.destroy())
  }
}

/** What the works before have changed, over what is in the store. */
const answersOver = (
  inner: Answerer,
  pending: PendingChanges,
  flush: () => Promise<void>,
): Answerer => ({
  async get(keys: readonly Key[]) {
    if (pending.isEmpty) return inner.get(keys)
    const known = keys.map(key => pending.find(key))
    const asked = keys.filter((_, at) => known[at] === undefined)
    const stored = asked.length === 0 ? [] : await inner.get(asked)
    let next = 0
    return known.map(value => (value === undefined ? stored[next++] : (value ?? undefined)))
  },
  async scan(range: Range, options) {
    await flush()
    return inner.scan(range, options)
  },
})

async function send(connection: Connection, calls: readonly Call[]): Promise<void> {
  const rest = await sendAllButLast(connection, calls)
  if (rest.length > 0) await connection.run(rest, CHANGE_MS)
}

/** Sends what is too much for one trip; what is left goes with the commit. */
async function sendAllButLast(connection: Connection, calls: readonly Call[]): Promise<Call[]> {
  let trip: Call[] = []
  let bytes = 0
  for (const call of calls) {
    const length = call.parameters.reduce((sum, { length }) => sum + length, 0)
    if (trip.length > 0 && bytes + length > TRIP_BYTES_MAX) {
      await connection.run(trip, CHANGE_MS)
      trip = []
      bytes = 0
    }
    trip.push(call)
    bytes += length
  }
  return trip
}
