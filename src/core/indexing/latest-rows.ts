/**
 * Which records of sorted runs count: of a document that came more than once in a build only what came last. The back
 * references tell which documents these are, so their tree is merged first.
 */

import { idBytes } from './row-order.ts'
import type { RowPieces } from './row-pieces.ts'
import { placeOfRecord, readRecord } from './row-records.ts'

/** For documents that came more than once the number of the latest, by the latin1 text of the bytes of their ids. */
export type LatestDocuments = ReadonlyMap<string, number>

export interface RecordFilter {
  /** Puts the row that is to be added now into `row`; false when there is none. */
  pass(record: Buffer, row: RowPieces): boolean
  /** The same behind the last record. */
  end(row: RowPieces): boolean
}

/**
 * Keeps of each document the latest back reference, and notes the documents that came more than
 * once.
 */
export class BackReferenceFilter implements RecordFilter {
  readonly latest = new Map<string, number>()
  #held: Buffer | undefined

  /** Records of one document follow each other, the latest last: so each is held until another document comes. */
  pass(record: Buffer, row: RowPieces): boolean {
    const held = this.#held
    this.#held = record
    if (held === undefined) return false
    const place = placeOfRecord(record)
    if (!placeOfRecord(held).equals(place)) return hasRows(held, row)
    readRecord(record, row)
    this.latest.set(place.toString('latin1'), row.document)
    return false
  }

  end(row: RowPieces): boolean {
    return this.#held !== undefined && hasRows(this.#held, row)
  }
}

/**
 * A document without rows has a record here, which says that earlier ones are void, and none in the
 * tree.
 */
function hasRows(record: Buffer, row: RowPieces): boolean {
  readRecord(record, row)
  return row.valueLength > 0
}

/** Drops rows of documents that came again later. */
export class StaleFilter implements RecordFilter {
  readonly #latest: LatestDocuments
  /** Ids are JSON strings. */
  readonly #hasWireIds: boolean

  constructor(latest: LatestDocuments, hasWireIds: boolean) {
    this.#latest = latest
    this.#hasWireIds = hasWireIds
  }

  pass(record: Buffer, row: RowPieces): boolean {
    readRecord(record, row)
    if (this.#latest.size === 0) return true
    const id = this.#hasWireIds ? idBytes(row.idText) : row.idText
    const latest = this.#latest.get(id.toString('latin1'))
    return latest === undefined || latest === row.document
  }

  end(): boolean {
    return false
  }
}
