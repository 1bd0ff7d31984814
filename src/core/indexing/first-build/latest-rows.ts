/**
 * Which rows of sorted runs count: of a document that came more than once in a build only what came last. The back
 * references tell which documents these are, so their tree is merged first.
 */

import { idBytes } from '../row-order.ts'
import { RowPieces } from './row-pieces.ts'

/** For documents that came more than once the number of the latest, by the latin1 text of the bytes of their ids. */
export type LatestDocuments = ReadonlyMap<string, number>

export interface RowFilter {
  /** The row that is to be added now that this one came; good until the next but one. */
  pass(row: RowPieces): RowPieces | undefined
  /** The same behind the last row. */
  end(): RowPieces | undefined
}

/**
 * Keeps of each document the latest back reference, and notes the documents that came more than
 * once.
 */
export class BackReferenceFilter implements RowFilter {
  readonly latest = new Map<string, number>()
  #held: RowPieces | undefined
  #given = new RowPieces()

  /** Those of one document follow each other, the latest last: so each is held until another document comes. */
  pass(row: RowPieces): RowPieces | undefined {
    const held = this.#held
    const next = this.#given
    next.take(row)
    this.#held = next
    this.#given = held ?? new RowPieces()
    if (held === undefined) return undefined
    if (!held.idText.equals(row.idText)) return withRows(held)
    this.latest.set(row.idText.toString('latin1'), row.document)
    return undefined
  }

  end(): RowPieces | undefined {
    return this.#held && withRows(this.#held)
  }
}

/**
 * A document without rows has a reference of no value here, which says that earlier ones are void, and none in the
 * tree.
 */
const withRows = (row: RowPieces): RowPieces | undefined => (row.valueLength > 0 ? row : undefined)

/** Drops rows of documents that came again later. */
export class StaleFilter implements RowFilter {
  readonly #latest: LatestDocuments
  /** Ids are JSON strings. */
  readonly #hasWireIds: boolean

  constructor(latest: LatestDocuments, hasWireIds: boolean) {
    this.#latest = latest
    this.#hasWireIds = hasWireIds
  }

  pass(row: RowPieces): RowPieces | undefined {
    if (this.#latest.size === 0) return row
    const id = this.#hasWireIds ? idBytes(row.idText) : row.idText
    const latest = this.#latest.get(id.toString('latin1'))
    return latest === undefined || latest === row.document ? row : undefined
  }

  end(): undefined {
    return undefined
  }
}
