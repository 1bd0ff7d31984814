/**
 * Rows for list functions, wherever they come from: the documents themselves (`_all_docs`) or a view, of the same or
 * another design document.
 */
import { Failure } from '../../base/errors.ts'
import type { DesignFunctions } from '../../core/operations/run-design-function.ts'
import type { Exchange } from './exchange.ts'
import { listingRows } from './listings.ts'
import { parseJsonObject, parseViewQuery } from './parse-view-query.ts'

export interface ListRows {
  /** What the function gets as `head`: JSON text of `{total_rows, offset}`, or `{}` for reduced rows. */
  readonly head: string
  /** Each one or more rows as JSON texts with commas between them. */
  readonly batches: AsyncIterable<Buffer>
}

/**
 * @param view its name, or the name of another design document and its name
 * @param body of the request, where there is one
 */
export async function openListRows(
  exchange: Exchange,
  design: DesignFunctions,
  view: readonly string[],
  body: Buffer | undefined,
): Promise<ListRows> {
  const { request, database } = exchange
  const isPost = request.method === 'POST' && body !== undefined && body.length > 0
  if (isPost) exchange.requireJsonType()
  const query = parseViewQuery(request.query, isPost ? parseJsonObject(body) : undefined)
  const [first, second] = view
  if (second === undefined && first === '_all_docs') {
    database.requireListing()
    return listingRows(exchange, query)
  }
  const owner = second === undefined ? design : await database.openDesign(first as string)
  const name = second ?? (first as string)
  if (!owner.document.views.has(name)) {
    throw new Failure('document_missing', { reason: 'missing_named_view' })
  }
  throw new Failure('not_supported', { reason: 'Views cannot be queried yet.' })
}
