/**
 * Many users at once: each row by itself, one result each, in order; a row that fails stops no other.
 *
 * Hashing passwords takes most of the time and is done beside this thread, so a few rows are under way together. Rows that
 * have something to do with each other (the same name; a place or person that an earlier row makes) wait for it.
 */
import { setImmediate as pause } from 'node:timers/promises'
import { idIn, isObject } from '../documents/document.ts'
import { invalid } from '../documents/refusal.ts'
import { type CreatedUser, createUser } from './create-user.ts'
import type { ImportLog, RowStatus } from './import-log.ts'
import type { UserRow } from './parse-users-csv.ts'
import type { UserContext } from './user-context.ts'
import { isMissingFields, refusalText } from './user-refusal.ts'

export type ImportResult = CreatedUser | { readonly error: string }

export interface ImportOutcome {
  readonly results: readonly ImportResult[]
  /** Every row failed, for want of fields that must be there. */
  readonly lacksFields: boolean
}

/** Rows that go on together share commits; more would fill the line in which passwords wait to be hashed. */
const CONCURRENCY_MAX = 8
const ROWS_A_TURN = 50
/** Each has a result that is kept until the end: whether any row was complete decides about the answer. */
export const ROWS_MAX = 100_000

export interface ImportOptions {
  /** Absent where imports are not logged. */
  readonly log?: ImportLog | undefined
  /** What is not the sender's mistake. */
  readonly onFailure: (thrown: unknown) => void
}

export async function importUsers(
  context: UserContext,
  rows: AsyncIterable<UserRow> | Iterable<UserRow>,
  { log, onFailure }: ImportOptions,
): Promise<ImportOutcome> {
  const results: (ImportResult | undefined)[] = []
  const running = new Set<Promise<void>>()
  const makers = new Map<string, Promise<void>>()
  let incomplete = 0
  const note = async (row: UserRow, status: RowStatus, text?: string): Promise<void> => {
    await log?.saved(row.record, status, text).catch(onFailure)
  }
  const run = async (row: UserRow, at: number, earlier: Promise<unknown>): Promise<void> => {
    await earlier
    try {
      results[at] = await createUser(context, row.record, 'things')
    } catch (thrown) {
      const error = refusalText(thrown) ?? 'Server error'
      if (refusalText(thrown) === undefined) onFailure(thrown)
      if (isMissingFields(thrown)) incomplete++
      results[at] = { error }
      return note(row, 'error', error)
    }
    await note(row, 'imported')
  }
  const ignoredNames = new Set<unknown>()
  for await (const row of readable(rows, results)) {
    log?.parsed(row.error)
    const { username } = row.record
    if (row.ignored !== undefined) ignoredNames.add(username)
    if (ignoredNames.has(username)) {
      await note(row, 'skipped', row.ignored?.message)
      continue
    }
    const at = results.push(undefined) - 1
    const earlier = Promise.all(needsOf(row.record).map(id => makers.get(id)))
    track(running, makers, makesOf(row.record), run(row, at, earlier))
    if (running.size >= CONCURRENCY_MAX) await Promise.race(running)
  }
  await Promise.all(running)
  const told = results as ImportResult[]
  return { results: told, lacksFields: told.length > 0 && incomplete === told.length }
}

/** A table that breaks off, or goes on for too long, is told as a last result. */
async function* readable(
  rows: AsyncIterable<UserRow> | Iterable<UserRow>,
  results: (ImportResult | undefined)[],
): AsyncGenerator<UserRow, void, undefined> {
  let left = ROWS_MAX
  try {
    for await (const row of rows) {
      if (left-- === 0) {
        throw invalid(`Only ${ROWS_MAX} users can be made at once; what follows was left out.`)
      }
      yield row
      // Rows that fail at once wait for nothing: others want their turn too.
      if (left % ROWS_A_TURN === 0) await pause()
    }
  } catch (thrown) {
    const error = refusalText(thrown)
    if (error === undefined) throw thrown
    results.push({ error })
  }
}

/** The name and the ids that a row brings into being. */
function makesOf({ username, place, contact }: UserRow['record']): string[] {
  return texts([username, ...[place, contact].filter(isObject).map(idIn)])
}

/** Names and ids that an earlier row may have to bring first. */
function needsOf({ username, place, contact }: UserRow['record']): string[] {
  const parents = [place, contact].filter(isObject).map(({ parent }) => idIn(parent))
  return texts([username, idIn(place), idIn(contact), ...parents])
}

const texts = (values: readonly unknown[]): string[] =>
  values.filter(value => typeof value === 'string')

function track(
  running: Set<Promise<void>>,
  makers: Map<string, Promise<void>>,
  made: readonly string[],
  work: Promise<void>,
): void {
  const done = work.finally(() => {
    running.delete(done)
    for (const id of made) if (makers.get(id) === done) makers.delete(id)
  })
  running.add(done)
  for (const id of made) makers.set(id, done)
}
