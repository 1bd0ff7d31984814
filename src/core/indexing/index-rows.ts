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

/**
 * A row in a larger piece of bytes. First builds have millions of them and copy from there; a buffer for each key and
 * value would cost more than the copying.
 */
export class SlicedRow implements EmittedRow {
  readonly bytes: Buffer
  readonly keyStart: number
  readonly keyEnd: number
  readonly valueStart: number
  readonly valueEnd: number

  constructor(
    bytes: Buffer,
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
  ) {
    this.bytes = bytes
    this.keyStart = keyStart
    this.keyEnd = keyEnd
    this.valueStart = valueStart
    this.valueEnd = valueEnd
  }

  get keyText(): Buffer {
    return this.bytes.subarray(this.keyStart, this.keyEnd)
  }

  get valueText(): Buffer {
    return this.bytes.subarray(this.valueStart, this.valueEnd)
  }
}

/** Any row as a sliced one. */
export const sliced = (row: EmittedRow): SlicedRow =>
  row instanceof SlicedRow ? row : joined(row.keyText, row.valueText)

function joined(keyText: Buffer, valueText: Buffer): SlicedRow {
  const bytes = Buffer.concat([keyText, valueText])
  return new SlicedRow(bytes, 0, keyText.length, keyText.length, bytes.length)
}

/** How far an index has followed its database. */
export interface IndexProgress {
  readonly seq: number
  readonly purgeSeq: number
}
