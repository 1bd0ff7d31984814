/**
 * PORT: a kind of index. The machinery in this folder keeps rows in order and sums them up; a kind
 * says what the trees of an index are and which rows a document has in them. Map/reduce views are
 * one kind, Mango's JSON indexes and text indexes others. `Document` is what the kind needs to see
 * of a document.
 */
import type { DocumentRows } from './index-rows.ts'
import type { TreeDefinition } from './index-tree.ts'

export interface IndexKind<Document> {
  readonly name: string
  /** In the order of `DocumentRows.rows`. */
  readonly trees: readonly TreeDefinition[]
  /**
   * The rows of each document, in the order of the documents. Deleted ones, and those that make no
   * rows, come back with empty lists. Runs outside any transaction and may take its time; it must
   * not answer from earlier batches.
   */
  rowsOf(documents: readonly Document[]): Promise<DocumentRows[]>
}
