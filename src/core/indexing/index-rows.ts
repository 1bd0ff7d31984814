/** What goes into an index: the rows that a document has, as a kind of index made them. */

export interface DocumentRows {
  readonly id: string
  /** For each tree the rows in the order they were emitted; empty for a deleted document. */
  readonly rows: readonly (readonly EmittedRow[])[]
}

/** Key and value as JSON text, compact, as it will go over the wire. */
export interface EmittedRow {
  readonly keyText: Buffer
  readonly valueText: Buffer
}

/** How far an index has followed its database. */
export interface IndexProgress {
  readonly seq: number
  readonly purgeSeq: number
}
