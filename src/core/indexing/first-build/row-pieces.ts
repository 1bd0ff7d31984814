/**
 * One row, as parts of larger bytes, on its way into a block. There is one such object for a whole build: it is filled
 * anew for every row, so that millions of rows cost no memory of their own.
 */
export class RowPieces {
  keyBytes: Buffer = NOTHING
  keyStart = 0
  keyEnd = 0
  /** As it stands in blocks: in the wire frame a JSON string. */
  idBytes: Buffer = NOTHING
  idStart = 0
  idEnd = 0
  valueBytes: Buffer = NOTHING
  valueStart = 0
  valueEnd = 0
  /** The number of the document within the build. */
  document = 0
  /** Known to have the key of the row before. */
  hasSameKey = false

  get keyText(): Buffer {
    return this.keyBytes.subarray(this.keyStart, this.keyEnd)
  }

  get idText(): Buffer {
    return this.idBytes.subarray(this.idStart, this.idEnd)
  }

  get valueLength(): number {
    return this.valueEnd - this.valueStart
  }

  /** Becomes the same row as another. */
  take(row: RowPieces): void {
    Object.assign(this, row)
  }
}

const NOTHING = Buffer.alloc(0)
