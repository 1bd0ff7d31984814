/**
 * Many users at once: each row by itself, one result each, in order; a row that fails stops no other.
 *
 * Hashing passwords takes most of the time and is done beside this thread, so a few rows are under way together. Rows that
 * have something to do with each other (the same name; a place or person that an earlier row makes) wait for it.
 */
import { type Document, idIn, isObject } from '../documents/document.ts'
import { type CreatedUser, createUser } from './create-user.ts'
import type { ImportLog } from './import-log.ts'
import type { UserRow } from './parse-users-csv.ts'
import type { UserContext } from './user-context.ts'
import { isMissingFields, refusalText } from './user-refusal.ts'

export type ImportResult = CreatedUser | { readonly error: string }

export interface ImportOutcome {
  readonly results: readonly ImportResult[]
  /** Every row failed, for want of fields that must be there. */
  readonly lacksFields: boolean
}

const CONCURRENCY_MAX = 4

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
  const run = async (row: UserRow, at: number, earlier: Promise<unknown>): Promise<void> => {
    await earlier
    try {
      results[at] = await createUser(context, row.record, 'things')
      await log?.saved(row.record, 'imported')
    } catch (thrown) {
      const text = refusalText(thrown)
      if (text === undefined) onFailure(thrown)
      if (isMissingFields(thrown)) incomplete++
      results[at] = { error: text ?? 'Server error' }
      await log?.saved(row.record, 'error', text ?? 'Server error')
    }
  }
  const ignoredNames = new Set<unknown>()
  for await (const row of readable(rows, results)) {
    log?.parsed(row.error)
    const { username } = row.record
    if (row.ignored !== undefined) ignoredNames.add(username)
    if (ignoredNames.has(username)) {
      await log?.saved(row.record, 'skipped', row.ignored?.message)
      continue
    }
    const at = results.push(undefined) - 1
    const earlier = Promise.all(tiesOf(row.record).map(tie => makers.get(tie)))
    const done = run(row, at, earlier)
    track(running, makers, tiesOf(row.record), done)
    if (running.size >= CONCURRENCY_MAX) await Promise.race(running)
  }
  await Promise.all(running)
  const told = results as ImportResult[]
  return { results: told, lacksFields: told.length > 0 && incomplete === told.length }
}

/** A table that breaks off is told as a last result. */
async function* readable(
  rows: AsyncIterable<UserRow> | Iterable<UserRow>,
  results: (ImportResult | undefined)[],
): AsyncGenerator<UserRow, void, undefined> {
  try {
    yield* rows
  } catch (thrown) {
    const error = refusalText(thrown)
    if (error === undefined) throw thrown
    results.push({ error })
  }
}

/** Names and ids that a row has in common with others. */
function tiesOf({ username, place, contact }: UserRow['record']): string[] {
  const ids = [place, contact, ...[place, contact].filter(isObject).map(({ parent }) => parent)]
  return [username, ...ids.map(id => idIn(id as Document))].filter(
    tie => typeof tie === 'string',
  ) as string[]
}

function track(
  running: Set<Promise<void>>,
  makers: Map<string, Promise<void>>,
  ties: readonly string[],
  work: Promise<void>,
): void {
  const done = work.finally(() => {
    running.delete(done)
    for (const tie of ties) if (makers.get(tie) === done) makers.delete(tie)
  })
  running.add(done)
  for (const tie of ties) makers.set(tie, done)
}
