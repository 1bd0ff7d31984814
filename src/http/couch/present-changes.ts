/**
 * Change rows as bytes, in the frame of their feed: rows of one JSON text, lines, or events. A row is written straight
 * into one buffer per batch; ids, revisions and plain documents are copied from what is stored, nothing is parsed. Only
 * documents with attachments or conflicts take the longer way.
 */
import { printRevision, type Revision } from '../../core/document/revision.ts'
import type { RowDocument } from '../../core/operations/change-rows.ts'
import type { ChangeRow } from '../../core/operations/follow-changes.ts'
import type { DocumentView } from '../../core/operations/read-document.ts'

export interface ChangesFrame {
  readonly beforeRow: string
  /** Only between two rows. */
  readonly betweenRows: string
  /** @param seqText as JSON; undefined when the row tells no sequence */
  readonly afterRow: (seqText: string | undefined) => string
}

export interface ChangesPresentation {
  readonly frame: ChangesFrame
  readonly printSequence: (seq: number) => string
  /** A sequence is told only where the number of rows still allowed is divisible by this. */
  readonly seqInterval: number
  readonly limit: number
  readonly presentView: (view: DocumentView) => Buffer
}

const ID = Buffer.from(',"id":')
const CHANGES = Buffer.from(',"changes":[')
const DELETED = Buffer.from('],"deleted":true')
const DOC = Buffer.from(',"doc":')
const DOC_ID = Buffer.from('{"_id":')
const DOC_REV = Buffer.from(',"_rev":')
const DOC_DELETED = Buffer.from(',"_deleted":true}')
const NULL = Buffer.from('null')
const HEX = Buffer.from('0123456789abcdef')
/** More than all the constant parts of a row with one revision. */
const FRAME_BYTES = 512
/** A revision that is a hash, with all around it. */
const REVISION_BYTES = 64

export class ChangeWriter {
  readonly #presentation: ChangesPresentation
  readonly #frame: ChangesFrame
  #bytes: Buffer
  #at = 0
  #isFirst = true
  #left: number
  #seqText: string | undefined

  constructor(presentation: ChangesPresentation, capacity = 4096) {
    this.#presentation = presentation
    this.#frame = presentation.frame
    this.#left = presentation.limit
    this.#bytes = Buffer.allocUnsafe(capacity)
  }

  /** What was written since the last time. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#at)
    this.#bytes = EMPTY
    this.#at = 0
    return taken
  }

  row(row: ChangeRow): void {
    this.beginRow(row)
    if (row.document !== undefined) this.#document(row, row.document)
    this.endRow()
  }

  /** All of a row before its document. */
  beginRow({ seq, idBytes, revs, deleted, document }: ChangeRow): void {
    const body = document === undefined ? 0 : bytesOf(document)
    // the id comes twice, and may grow sixfold where letters are escaped
    this.#reserve(idBytes.length * 12 + body + revs.length * REVISION_BYTES + FRAME_BYTES)
    this.#latin1(this.#isFirst ? this.#frame.beforeRow : this.#between)
    this.#isFirst = false
    const tellsSeq = this.#left % this.#presentation.seqInterval === 0
    this.#left--
    this.#seqText = tellsSeq ? `"${this.#presentation.printSequence(seq)}"` : undefined
    this.#latin1(`{"seq":${this.#seqText ?? 'null'}`)
    this.#put(ID)
    this.#id(idBytes)
    this.#put(CHANGES)
    for (let index = 0; index < revs.length; index++) {
      this.#latin1(index === 0 ? '{"rev":' : ',{"rev":')
      this.#revision(revs[index] as Revision)
      this.#byte(0x7d)
    }
    if (deleted) this.#put(DELETED)
    else this.#byte(0x5d)
  }

  /** `,"doc":` for a document that is sent piece by piece. */
  beginDocument(): void {
    this.#reserve(DOC.length)
    this.#put(DOC)
  }

  endRow(): void {
    const after = this.#frame.afterRow(this.#seqText)
    this.#reserve(after.length + 1)
    this.#byte(0x7d)
    this.#latin1(after)
  }

  get #between(): string {
    const { betweenRows, beforeRow } = this.#frame
    return beforeRow === '' ? betweenRows : betweenRows + beforeRow
  }

  #document(row: ChangeRow, document: RowDocument): void {
    this.#put(DOC)
    if (document.kind === 'record') this.#record(row, document)
    else {
      const text =
        document.kind === 'text' ? document.text : this.#presentation.presentView(document.view)
      this.#reserve(text.length + FRAME_BYTES)
      this.#put(text)
    }
  }

  #record(row: ChangeRow, document: RowDocument & { kind: 'record' }): void {
    const { record, bodyStart, rev } = document
    this.#put(DOC_ID)
    this.#id(row.idBytes)
    this.#put(DOC_REV)
    this.#revision(rev)
    if (record.length - bodyStart > 2) {
      this.#byte(0x2c)
      this.#at += record.copy(this.#bytes, this.#at, bodyStart + 1, record.length - 1)
    }
    if (row.deleted) this.#put(DOC_DELETED)
    else this.#byte(0x7d)
  }

  #id(id: Buffer): void {
    if (!isPlain(id)) {
      this.#at += this.#bytes.write(JSON.stringify(id.toString()), this.#at)
      return
    }
    this.#byte(0x22)
    this.#put(id)
    this.#byte(0x22)
  }

  #revision(rev: Revision): void {
    const { pos, id } = rev
    if (id.length !== 16) {
      const quoted = JSON.stringify(printRevision(rev))
      this.#reserve(quoted.length * 3 + FRAME_BYTES)
      this.#at += this.#bytes.write(quoted, this.#at)
      return
    }
    const bytes = this.#bytes
    let at = this.#at
    bytes[at++] = 0x22
    if (pos < 10) bytes[at++] = 0x30 + pos
    else at += bytes.write(String(pos), at, 'latin1')
    bytes[at++] = 0x2d
    for (let from = 0; from < 16; from++) {
      const byte = id[from] as number
      bytes[at++] = HEX[byte >> 4] as number
      bytes[at++] = HEX[byte & 15] as number
    }
    bytes[at++] = 0x22
    this.#at = at
  }

  #byte(byte: number): void {
    this.#bytes[this.#at++] = byte
  }

  #put(bytes: Buffer): void {
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
  }

  #latin1(text: string): void {
    if (text !== '') this.#at += this.#bytes.write(text, this.#at, 'latin1')
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#bytes.length) return
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + count))
    this.#bytes.copy(grown, 0, 0, this.#at)
    this.#bytes = grown
  }
}

/** An idle feed holds no buffer. */
const EMPTY = Buffer.alloc(0)

/** What a record needs beyond the constant parts; loose revision ids and presented texts reserve for themselves. */
const bytesOf = (document: RowDocument): number =>
  document.kind === 'record' ? document.record.length - document.bodyStart : NULL.length

/** Nothing that JSON escapes. */
function isPlain(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return false
  }
  return true
}
