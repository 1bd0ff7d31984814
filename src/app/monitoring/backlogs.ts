/** What waits: for the background processor, and to be pushed to other systems. */
import { isFailure } from '../../base/errors.ts'
import type { DatabaseOperations } from '../../core/operations/operations.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { countRows } from './count-rows.ts'

/** Where the background processor keeps how far it has come. */
const PLACE_ID = '_local/transitions-seq'

/** Changes of the main database after the place that the background processor has reached. */
export async function processorBacklog(
  data: DocumentDatabase,
  sentinel: DocumentDatabase,
): Promise<number> {
  return countAfter(await data.open(), await placeIn(await sentinel.open()))
}

export const pushBacklog = (sentinel: DocumentDatabase, signal: AbortSignal): Promise<number> =>
  countRows(sentinel, { design: 'sentinel', view: 'outbound_push_tasks' }, signal)

/** The beginning where nothing was processed yet. */
async function placeIn(sentinel: DatabaseOperations): Promise<string> {
  try {
    const { body } = await sentinel.readLocalDocument(PLACE_ID)
    const { value } = JSON.parse(body.toString()) as { value?: unknown }
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '0'
  } catch (thrown) {
    if (isFailure(thrown, 'document_missing')) return '0'
    throw thrown
  }
}

async function countAfter(data: DatabaseOperations, since: string): Promise<number> {
  const feed = await data.openChanges({
    since,
    limit: 0,
    allLeaves: false,
    feed: 'normal',
    descending: false,
    waitMs: 0,
    beats: false,
  })
  for await (const event of feed.events(NEVER)) if (event.kind === 'end') return event.pending
  throw new Error('the changes did not end')
}

const NEVER = new AbortController().signal
