/**
 * What is left over when documents are deleted: their info documents, and the marks that users had read them. Follows
 * the main database from where it was the last time, which is kept in `_local/background-seq`. Short ids that were taken
 * more than a day ago are in documents by now, or never will be: that they were taken is forgotten.
 */
import { applicationDatabase } from '../../base/product-names.ts'
import type { ServerOperations } from '../../core/operations/operations.ts'
import { DocumentDatabase } from '../documents/document-database.ts'
import { readLocal, writeLocal } from '../documents/local-document.ts'
import { infoIdOf } from '../info-documents/info-document.ts'
import { RESERVATION_PREFIX } from '../transitions/short-codes.ts'

export const BACKGROUND_SEQ = '_local/background-seq'
const CHANGES_MAX = 10_000
const DAY_MS = 86_400_000
const BATCH = 500

export interface CleanUpParts {
  readonly server: ServerOperations
  readonly data: DocumentDatabase
  readonly sentinel: DocumentDatabase
  readonly clock: () => number
}

export async function cleanUp(parts: CleanUpParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await cleanBatch(parts, signal)) === CHANGES_MAX);
  await forgetReservations(parts, signal)
}

/** How many changes were looked at. */
async function cleanBatch(parts: CleanUpParts, signal: AbortSignal): Promise<number> {
  const { data, sentinel } = parts
  const database = await data.open()
  const kept = await readLocal(sentinel, BACKGROUND_SEQ)
  const feed = await database.openChanges({
    since: typeof kept?.value === 'string' ? kept.value : '0',
    limit: CHANGES_MAX,
    allLeaves: false,
    feed: 'normal',
    descending: false,
    waitMs: 0,
    beats: false,
  })
  let count = 0
  let last: number | undefined
  for await (const event of feed.events(signal)) {
    if (event.kind !== 'rows') continue
    count += event.rows.length
    last = event.rows.at(-1)?.seq ?? last
    await forgetDeleted(
      parts,
      event.rows.filter(({ deleted }) => deleted).map(({ id }) => id),
    )
  }
  if (last !== undefined && !signal.aborted) {
    await writeLocal(sentinel, BACKGROUND_SEQ, { value: database.printSequence(last) })
  }
  return count
}

async function forgetDeleted(
  { server, sentinel }: CleanUpParts,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  await remove(sentinel, ids.map(infoIdOf))
  const receipts = ids.flatMap(id => [`read:report:${id}`, `read:message:${id}`])
  const own = new RegExp(`^${applicationDatabase('user-')}.+-meta$`)
  for (const name of await server.databaseNames()) {
    if (own.test(name)) await remove(new DocumentDatabase(server, name), receipts)
  }
}

/** Those that are there; whatever somebody else changes meanwhile is left for another time. */
async function remove(database: DocumentDatabase, ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += BATCH) {
    const found = await database.getMany(ids.slice(at, at + BATCH))
    const there = found.filter(document => document !== undefined)
    await database.putMany(there.map(({ _id, _rev = '' }) => ({ _id, _rev, _deleted: true })))
  }
}

async function forgetReservations(
  { sentinel, clock }: CleanUpParts,
  signal: AbortSignal,
): Promise<void> {
  const database = await sentinel.open()
  const range = {
    start: RESERVATION_PREFIX,
    end: `${RESERVATION_PREFIX}\ufff0`,
    limit: CHANGES_MAX,
  }
  const old: string[] = []
  for await (const rows of (await database.listDocuments('all', range)).rows) {
    if (signal.aborted) return
    for (const row of rows) {
      const { id, body } = row.view({})
      const { reserved_date: reservedMs } = JSON.parse(body.toString()) as {
        reserved_date?: number
      }
      if (clock() - Number(reservedMs ?? 0) > DAY_MS) old.push(id)
    }
  }
  await remove(sentinel, old)
}
