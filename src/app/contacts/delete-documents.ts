/**
 * Deleting many documents, batch by batch; the outcome of a batch is handed out before the next one begins.
 *
 * A place whose primary contact goes loses the reference in the same batch. Documents that somebody changes meanwhile
 * are read and tried again a few times. Deleted documents keep their members: those who follow the changes need them.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import { ADMIN_ONLY_REASON } from '../access/protected-documents.ts'
import type { ApplicationContext } from '../application-context.ts'
import { type Document, idIn, isObject } from '../documents/document.ts'
import type { DocumentDatabase, WriteOutcome } from '../documents/document-database.ts'
import { invalid } from '../documents/refusal.ts'

const BATCH_COUNT = 100
const RETRIES_MAX = 3

/** The ids in `[{_id}, …]`. Fails with `request_invalid`. */
export function parseDeletions(docs: unknown): string[] {
  if (!Array.isArray(docs)) throw invalid('Bulk delete: `docs` must be an array of objects.')
  const ids = new Set<string>()
  const repeated = new Set<string>()
  for (const item of docs) {
    const id = isObject(item) ? idIn(item) : undefined
    if (id === undefined) throw invalid('Bulk delete: each of `docs` must have an `_id`.')
    if (ids.has(id)) repeated.add(id)
    ids.add(id)
  }
  if (repeated.size > 0) {
    throw invalid(`Duplicate documents when deleting: ${[...repeated].join(',')}`)
  }
  return [...ids]
}

/** One list of outcomes for each batch; ids that are not there have none. */
export async function* deleteDocuments(
  { data }: ApplicationContext,
  ids: readonly string[],
  mayDelete: (document: Document) => boolean,
): AsyncGenerator<readonly WriteOutcome[], void, undefined> {
  const all = new Set(ids)
  for (let at = 0; at < ids.length; at += BATCH_COUNT) {
    const batch = ids.slice(at, at + BATCH_COUNT)
    const { allowed, refused } = await sortOut(data, batch, mayDelete)
    yield [...(await deleteBatch(data, allowed, all)), ...refused]
  }
}

/** Documents that are not for whoever asks stay, and he is told so. */
async function sortOut(
  data: DocumentDatabase,
  ids: readonly string[],
  mayDelete: (document: Document) => boolean,
): Promise<{ allowed: string[]; refused: WriteOutcome[] }> {
  const found = [...(await data.getMap(ids)).values()]
  const failure = new Failure('forbidden', { reason: ADMIN_ONLY_REASON })
  return {
    allowed: found.filter(mayDelete).map(({ _id }) => _id),
    refused: found
      .filter(document => !mayDelete(document))
      .map(({ _id: id }) => ({ ok: false, id, failure })),
  }
}

async function deleteBatch(
  data: DocumentDatabase,
  ids: readonly string[],
  all: ReadonlySet<string>,
): Promise<WriteOutcome[]> {
  const outcomes = new Map<string, WriteOutcome>()
  const going = new Set(ids)
  let wanted = ids
  let placeIds: readonly string[] = []
  for (let attempt = 0; attempt <= RETRIES_MAX; attempt++) {
    const found = [...(await data.getMap(wanted)).values()]
    const places = await placesToChange(data, [...placeIds, ...parentIds(found, all)], going)
    const deletions = found.map(document => ({ ...document, _deleted: true }))
    const results = await data.putMany([...deletions, ...places])
    for (const outcome of results) outcomes.set(outcome.id, outcome)
    const lost = results.filter(isLost).map(({ id }) => id)
    if (lost.length === 0) break
    wanted = lost.filter(id => going.has(id))
    placeIds = lost.filter(id => !going.has(id))
  }
  return [...outcomes.values()]
}

/** Somebody else was quicker. */
const isLost = (outcome: WriteOutcome): boolean =>
  !outcome.ok && isFailure(outcome.failure, 'document_conflict')

/** Places outside the whole list. */
const parentIds = (documents: readonly Document[], all: ReadonlySet<string>): string[] =>
  documents
    .map(({ parent }) => idIn(parent))
    .filter(id => id !== undefined)
    .filter(id => !all.has(id))

/** Those of the places whose primary contact goes, without it. */
async function placesToChange(
  data: DocumentDatabase,
  ids: readonly string[],
  going: ReadonlySet<string>,
): Promise<Document[]> {
  if (ids.length === 0) return []
  const places = await data.getMap(ids)
  return [...places.values()]
    .filter(({ contact }) => going.has(idIn(contact) ?? ''))
    .map(place => ({ ...place, contact: null }))
}
