/**
 * A page of a long list. The cursor says how many rows of the index were used up before; it is null once there are no
 * more. Items come in batches, so that a large page is never in memory as a whole.
 */
import { invalid } from './refusal.ts'

export interface Page<Item> {
  readonly batches: AsyncIterable<readonly Item[]>
  /** Where the next page begins; known when all batches were read. */
  cursor(): string | null
}

export interface PageRequest {
  readonly skip: number
  readonly limit: number
}

/** @param given texts as they came, a list where a parameter came several times */
export function parsePage(
  given: { readonly cursor?: unknown; readonly limit?: unknown },
  defaultLimit: number,
): PageRequest {
  return { skip: parseCursor(given.cursor), limit: parseLimit(given.limit, defaultLimit) }
}

function parseLimit(given: unknown, defaultLimit: number): number {
  if (given === undefined) return defaultLimit
  const limit = typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : 0
  if (limit >= 1) return limit
  throw invalid(`The limit must be a positive integer: [${JSON.stringify(given)}].`)
}

function parseCursor(given: unknown): number {
  if (given === undefined) return 0
  if (typeof given === 'string' && /^\d{1,15}$/.test(given)) return Number(given)
  throw invalid(`The cursor must be a string or null for first page: [${JSON.stringify(given)}].`)
}

/** Reads rows of an index, at most so many, after leaving out so many. */
export type ReadRows<Row> = (range: PageRequest) => AsyncIterable<readonly Row[]>

/**
 * Fills a page from rows. `choose` makes items of a batch of rows, undefined for those to leave out; more rows are then
 * read until the page is full or the index is at its end.
 */
export function fillPage<Row, Item>(
  read: ReadRows<Row>,
  { skip, limit }: PageRequest,
  choose: (rows: readonly Row[]) => Promise<readonly (Item | undefined)[]>,
): Page<Item> {
  let consumed = skip
  let left = limit
  async function* batches(): AsyncGenerator<readonly Item[], void, undefined> {
    while (left > 0) {
      const wanted = left
      const before = consumed
      for await (const batch of read({ skip: consumed, limit: wanted })) {
        for (let at = 0; at < batch.length; at += SLICE_MAX) {
          const slice = batch.slice(at, at + SLICE_MAX)
          const chosen = await choose(slice)
          consumed += slice.length
          const items = chosen.filter(item => item !== undefined) as Item[]
          left -= items.length
          if (items.length > 0) yield items
        }
      }
      if (consumed - before < wanted) return
    }
  }
  return { batches: batches(), cursor: () => (left > 0 ? null : String(consumed)) }
}

/** Rows that are made into items at once. */
const SLICE_MAX = 500
