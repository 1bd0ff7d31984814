/**
 * Change rows as bytes, in the frame of their feed: rows of one JSON text, lines, or events. A row is written straight
 * into one buffer per batch; ids, revisions and plain documents are copied from what is stored, nothing is parsed. Only
 * documents with attachments or conflicts take the longer way.
 */
import { printRevision, type Revision } from '../../core/document/revision.ts'
import type { ChangeRow, RowDocument } from '../../core/operations/change-rows.ts'
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
const REV = Buffer.from('{"rev":')
const DELETED = Buffer.from('],"deleted":true')
const DOC = Buffer.from(',"doc":')
const DOC_ID = Buffer.from('{"_id":')
const DOC_REV = Buffer.from(',"_rev":')
const DOC_DELETED = Buffer.from(',"_deleted":true}')
const NULL = Buffer.from('null')
/** An idle feed holds no buffer. */
const EMPTY = Buffer.alloc(0)
const CAPACITY_MAX = 1024 * 1024
const HEX = Buffer.from('0123456789abcdef')
/** More than all the constant parts of a row with one revision. */
const FRAME_BYTES = 512
/** A revision that is a hash, with all around it. */
const REVISION_BYTES = 64

export class ChangeWriter {
  readonly #presentation: ChangesPresentation
  readonly #frame: ChangesFrame
  #bytes = EMPTY
  #at = 0
  #isFirst = true
  #left: number
  /** How much the last batch was: the next one is probably as much. */
  #lastBytes = 0
  #seqText: string | undefined

  constructor(presentation: ChangesPresentation) {
    this.#presentation = presentation
    this.#frame = presentation.frame
    this.#left = presentation.limit
  }

  /** What was written since the last time. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#at)
    this.#bytes = EMPTY
    this.#lastBytes = Math.min(this.#at, CAPACITY_MAX)
    this.#at = 0
    return taken
  }

  row(row: ChangeRow): void {
    this.beginRow(row)
    if (row.document !== undefined) this.#document(row, row.document)
    this.endRow()
  }

  /** All of a row before its document. */
  beginRow({ change, listed, document }: ChangeRow): void {
    const { entry } = change
    const body = document === undefined ? 0 : bytesOf(document)
    // the id comes twice, and may grow sixfold where letters are escaped
    this.#reserve(entry.length * 12 + body + (listed?.length ?? 1) * REVISION_BYTES + FRAME_BYTES)
    const tellsSeq = this.#left % this.#presentation.seqInterval === 0
    const seqText = tellsSeq ? `"${this.#presentation.printSequence(change.seq)}"` : undefined
    this.#seqText = seqText
    const before = this.#isFirst ? this.#frame.beforeRow : this.#between
    this.#latin1(`${before}{"seq":${seqText ?? 'null'}`)
    this.#isFirst = false
    this.#left--
    this.#put(ID)
    this.#id(change)
    this.#put(CHANGES)
    if (listed === undefined) this.#listWinner(change)
    else this.#listAll(listed)
    if (change.deleted) this.#put(DELETED)
    else this.#byte(0x5d)
  }

  #listWinner(change: ChangeRow['change']): void {
    this.#put(REV)
    this.#winner(change)
    this.#byte(0x7d)
  }

  #listAll(revs: readonly Revision[]): void {
    for (const [index, rev] of revs.entries()) {
      if (index > 0) this.#byte(0x2c)
      this.#put(REV)
      this.#revision(rev.pos, rev.id, 0, rev.id.length)
      this.#byte(0x7d)
    }
  }

  #winner({ entry, winnerPos, winnerStart, winnerEnd }: ChangeRow['change']): void {
    this.#revision(winnerPos, entry, winnerStart, winnerEnd)
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

  #record({ change }: ChangeRow, { record, bodyStart }: RowDocument & { kind: 'record' }): void {
    this.#put(DOC_ID)
    this.#id(change)
    this.#put(DOC_REV)
    this.#winner(change)
    if (record.length - bodyStart > 2) {
      this.#byte(0x2c)
      this.#at += record.copy(this.#bytes, this.#at, bodyStart + 1, record.length - 1)
    }
    if (change.deleted) this.#put(DOC_DELETED)
    else this.#byte(0x7d)
  }

  #id({ entry, idStart }: ChangeRow['change']): void {
    if (!isPlain(entry, idStart)) {
      this.#at += this.#bytes.write(JSON.stringify(entry.toString('utf8', idStart)), this.#at)
      return
    }
    this.#byte(0x22)
    this.#at += entry.copy(this.#bytes, this.#at, idStart)
    this.#byte(0x22)
  }

  #revision(pos: number, source: Buffer, start: number, end: number): void {
    if (end - start !== 16) {
      const quoted = JSON.stringify(printRevision({ pos, id: source.subarray(start, end) }))
      // behind it may still come a body that room was made for already
      this.#reserve(quoted.length * 3 + (this.#bytes.length - this.#at))
      this.#at += this.#bytes.write(quoted, this.#at)
      return
    }
    const bytes = this.#bytes
    let at = this.#at
    bytes[at++] = 0x22
    if (pos < 10) bytes[at++] = 0x30 + pos
    else at += bytes.write(String(pos), at, 'latin1')
    bytes[at++] = 0x2d
    for (let from = start; from < end; from++) {
      const byte = source[from] as number
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
    const room = Math.max(this.#bytes.length * 2, this.#lastBytes, this.#at + count)
    const grown = Buffer.allocUnsafe(room)
    this.#bytes.copy(grown, 0, 0, this.#at)
    this.#bytes = grown
  }
}

/** What a record needs beyond the constant parts; loose revision ids and presented texts reserve for themselves. */
const bytesOf = (document: RowDocument): number =>
  document.kind === 'record' ? document.record.length - document.bodyStart : NULL.length

/** Nothing that JSON escapes. */
function isPlain(bytes: Buffer, start: number): boolean {
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return false
  }
  return true
}
