/**
 * Rows of documents as bytes. A row is written straight from the stored record into one buffer per batch: ids,
 * revisions and bodies are copied, nothing is parsed. Only rows that show more than the plain document take the
 * longer way.
 */
import { printRevision } from '../../core/document/revision.ts'
import type { ListedDocument } from '../../core/operations/list-documents.ts'

/** The document of a row where its stored bytes do not suffice: attachments, conflicts. */
export type PresentOthers = (document: ListedDocument) => Buffer | undefined

export interface RowOptions {
  readonly separator: string
  readonly includeDocs: boolean
  /** `_conflicts` are shown. */
  readonly conflicts: boolean
  /** Local documents: every revision is shown as this. */
  readonly revText?: string | undefined
  readonly presentOthers: PresentOthers
}

const ID = Buffer.from('{"id":')
const KEY = Buffer.from(',"key":')
const REV = Buffer.from(',"value":{"rev":')
const DELETED = Buffer.from(',"deleted":true')
const DOC = Buffer.from(',"doc":')
const DOC_ID = Buffer.from('{"_id":')
const DOC_REV = Buffer.from(',"_rev":')
const NULL = Buffer.from('null')
const HEX = Buffer.from('0123456789abcdef')
/** More than all the constant parts of a row. */
const FRAME_BYTES = 160

export class RowWriter {
  readonly #options: RowOptions
  readonly #separator: Buffer
  #bytes = NO_BYTES
  /** Of the next buffer, which is made when there is something to write. */
  #capacity: number
  #at = 0
  #isFirst = true

  constructor(options: RowOptions, capacity = 16_384) {
    this.#options = options
    this.#separator = Buffer.from(options.separator)
    this.#capacity = capacity
  }

  get length(): number {
    return this.#at
  }

  /** What was written since the last time. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#at)
    // as much again, unless an unusual row made it large
    if (this.#at > 0) this.#capacity = Math.min(this.#bytes.length, CAPACITY_MAX)
    this.#bytes = NO_BYTES
    this.#at = 0
    return taken
  }

  row(document: ListedDocument): void {
    const others = this.beginRow(document)
    if (!this.#options.includeDocs) this.#put(CLOSE)
    else if (document.deleted) this.document(NULL)
    else if (others) this.document(this.#options.presentOthers(document))
    else this.#plainDocument(document)
  }

  /** All of a row but its document. True: the document is more than its stored bytes. */
  beginRow(document: ListedDocument): boolean {
    const idBytes = document.idEnd - document.idStart
    const bodyBytes = this.#options.includeDocs ? document.value.length - document.bodyStart : 0
    // the id comes three times, and may grow sixfold where letters are escaped
    this.#reserve(idBytes * 18 + bodyBytes + FRAME_BYTES + 200)
    this.#separate()
    this.#put(ID)
    const idAt = this.#at
    this.#putId(document)
    const idEnd = this.#at
    this.#put(KEY)
    this.#again(idAt, idEnd)
    this.#put(REV)
    this.#putRevision(document)
    if (document.deleted) this.#put(DELETED)
    this.#bytes[this.#at++] = 0x7d
    return document.hasAttachments || (this.#options.conflicts && document.conflicted)
  }

  /** The document of the row at hand, as text, and the row's end. */
  document(text: Buffer | undefined): void {
    const doc = text ?? NULL
    this.#reserve(doc.length + 16)
    this.#put(DOC)
    this.#put(doc)
    this.#put(CLOSE)
  }

  /** `,"doc":` for a document that is sent piece by piece, with `text('}')` behind it. */
  beginDocument(): void {
    this.#reserve(16)
    this.#put(DOC)
  }

  /** A row, or a piece of one, that is made elsewhere. */
  text(text: string, isRow = false): void {
    this.#reserve(text.length * 3 + this.#separator.length)
    if (isRow) this.#separate()
    this.#at += this.#bytes.write(text, this.#at)
  }

  /** A row that is the stored document itself, with nothing around it. */
  bareDocument(document: ListedDocument): void {
    const { idStart, idEnd, value, bodyStart } = document
    this.#reserve((idEnd - idStart) * 6 + value.length - bodyStart + FRAME_BYTES)
    this.#separate()
    this.#documentText(document)
  }

  /** A row whose text is made elsewhere. */
  bytes(text: Buffer): void {
    this.#reserve(text.length + this.#separator.length)
    this.#separate()
    this.#put(text)
  }

  #plainDocument(document: ListedDocument): void {
    this.#put(DOC)
    this.#documentText(document)
    this.#put(CLOSE)
  }

  #documentText(document: ListedDocument): void {
    const { value, bodyStart } = document
    this.#put(DOC_ID)
    this.#putId(document)
    this.#put(DOC_REV)
    this.#putRevision(document)
    if (value.length - bodyStart > 2) {
      this.#bytes[this.#at++] = 0x2c
      this.#at += value.copy(this.#bytes, this.#at, bodyStart + 1, value.length)
    } else this.#bytes[this.#at++] = 0x7d
  }

  #separate(): void {
    if (this.#isFirst) this.#isFirst = false
    else this.#put(this.#separator)
  }

  #put(constant: Buffer): void {
    this.#bytes.set(constant, this.#at)
    this.#at += constant.length
  }

  #again(from: number, to: number): void {
    this.#bytes.copyWithin(this.#at, from, to)
    this.#at += to - from
  }

  #putId({ idSource, idStart, idEnd }: ListedDocument): void {
    if (!isPlain(idSource, idStart, idEnd)) {
      const text = JSON.stringify(idSource.toString('utf8', idStart, idEnd))
      this.#at += this.#bytes.write(text, this.#at)
      return
    }
    this.#bytes[this.#at++] = 0x22
    this.#at += idSource.copy(this.#bytes, this.#at, idStart, idEnd)
    this.#bytes[this.#at++] = 0x22
  }

  #putRevision(document: ListedDocument): void {
    const { value, revIdStart, revIdEnd, pos } = document
    const text = document.revText && (this.#options.revText ?? document.revText)
    if (text !== undefined || revIdEnd - revIdStart !== 16) {
      const id = value.subarray(revIdStart, revIdEnd)
      const quoted = JSON.stringify(text ?? printRevision({ pos, id }))
      this.#reserve(quoted.length * 3 + value.length + FRAME_BYTES)
      this.#at += this.#bytes.write(quoted, this.#at)
      return
    }
    const bytes = this.#bytes
    let at = this.#at
    bytes[at++] = 0x22
    at = putDecimal(bytes, at, pos)
    bytes[at++] = 0x2d
    for (let from = revIdStart; from < revIdEnd; from++) {
      const byte = value[from] as number
      bytes[at++] = HEX[byte >> 4] as number
      bytes[at++] = HEX[byte & 15] as number
    }
    bytes[at++] = 0x22
    this.#at = at
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#bytes.length) return
    const doubled = Math.max(this.#capacity, this.#bytes.length * 2)
    const grown = Buffer.allocUnsafe(Math.max(doubled, this.#at + count))
    this.#bytes.copy(grown, 0, 0, this.#at)
    this.#bytes = grown
  }
}

const CLOSE = Buffer.from('}')
const NO_BYTES = Buffer.alloc(0)
const CAPACITY_MAX = 2 * 1024 * 1024

/** Nothing that JSON escapes. */
function isPlain(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return false
  }
  return true
}

function putDecimal(bytes: Buffer, start: number, value: number): number {
  if (value < 10) {
    bytes[start] = 0x30 + value
    return start + 1
  }
  return start + bytes.write(String(value), start, 'latin1')
}
