/**
 * Lists for those who see parts of documents only. Rows point into stored bytes, which hold everything; here each one
 * is replaced by a row that holds no more than its reader may see, or left out.
 */
import type { KeyedListing, ListedDocument, Listing } from './list-documents.ts'
import type { DocumentView } from './read-document.ts'

/** What the reader sees of a document: the very view he gave for all of it, undefined for nothing. */
export type Narrow = (view: DocumentView) => DocumentView | undefined

export const narrowedListing = (listing: Listing, narrow: Narrow): Listing => ({
  ...listing,
  rows: batches(listing.rows, rows =>
    rows.map(row => narrowedRow(row, narrow)).filter(row => row !== undefined),
  ),
})

export const narrowedKeyedListing = (listing: KeyedListing, narrow: Narrow): KeyedListing => ({
  ...listing,
  rows: batches(listing.rows, rows => rows.map(row => row && narrowedRow(row, narrow))),
})

async function* batches<T, Narrowed>(
  source: AsyncIterable<T>,
  change: (rows: T) => Narrowed,
): AsyncGenerator<Narrowed, void, undefined> {
  for await (const rows of source) yield change(rows)
}

function narrowedRow(row: ListedDocument, narrow: Narrow): ListedDocument | undefined {
  const whole = row.view({})
  const view = narrow(whole)
  if (view === undefined || view === whole) return view && row
  const { rev, body } = view
  const { idSource, idStart, idEnd, deleted } = row
  return {
    idSource,
    idStart,
    idEnd,
    deleted,
    value: Buffer.concat([rev.id, body]),
    pos: rev.pos,
    revIdStart: 0,
    revIdEnd: rev.id.length,
    revText: undefined,
    bodyStart: rev.id.length,
    hasAttachments: false,
    conflicted: false,
    view: () => view,
  }
}
