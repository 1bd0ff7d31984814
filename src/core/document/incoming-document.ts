/**
 * A document as it comes from a client, in the shape the store wants it: the special members taken
 * out and checked, the rest as compact JSON text (`body`) and as the bytes its revision hash is
 * made of (`bodyTerm`).
 *
 * One pass over the request's bytes; nothing is parsed into objects but the small special members.
 * JSON errors (`json_invalid`) come before any other complaint, then the first complaint in the
 * order of the members, as in CouchDB. Whether the document may be written is decided elsewhere
 * (`apply-edit.ts`).
 */
import { Failure } from '../../base/errors.ts'
import { type Json, parseJsonAt, printJson } from '../../base/json/exact-json.ts'
import { printDouble } from '../../base/json/print-double.ts'
import { DUPLICATE_KEY, JsonScanner } from '../../base/json/scan.ts'
import { TAG } from '../../base/json/term-buffer.ts'
import { attachmentNameFailure } from './attachment-name.ts'
import type { IncomingAttachment } from './incoming-attachment.ts'
import type { Revision, RevisionPath } from './revision.ts'
import { SpecialMembers } from './special-members.ts'

export interface IncomingDocument {
  readonly id?: string | undefined
  /** The newest of `_revisions` if that is there, else `_rev`. */
  readonly rev?: Revision | undefined
  readonly revisions?: RevisionPath | undefined
  readonly deleted: boolean
  /** Compact `{…}` without the special members. */
  readonly body: Buffer
  /** The external term bytes of `body`. */
  readonly bodyTerm: Buffer
  /** In JSON order; absent when there is no `_attachments`. */
  readonly attachments?: readonly IncomingAttachment[] | undefined
}

export interface DocumentLimits {
  readonly bodyBytesMax?: number
  readonly idBytesMax?: number
}

export interface BulkDocs {
  readonly documents: IncomingDocument[]
  readonly newEdits?: boolean
  /** The members besides `docs` and `new_edits`. */
  readonly other: ReadonlyMap<string, Json>
}

// Everything here is synchronous, so one scanner with its buffers serves all calls.
const scanner = new JsonScanner()

/** The one document from `start` to the end of the bytes; `end` is the length of the bytes. */
export function scanDocument(
  bytes: Buffer,
  start = 0,
  limits: DocumentLimits = {},
): { document: IncomingDocument; end: number } {
  scanner.open(bytes, start)
  const draft = readElement(limits)
  scanner.expectEnd()
  return { document: settle(draft), end: scanner.at }
}

/** The body of `_bulk_docs`. */
export function scanBulkDocs(bytes: Buffer, limits: DocumentLimits = {}): BulkDocs {
  scanner.open(bytes, 0)
  if (scanner.peek() !== 0x7b) {
    readValue()
    scanner.expectEnd()
    throw new Failure('request_invalid', { reason: 'Request body must be a JSON object' })
  }
  let drafts: Draft[] | undefined
  const other = new Map<string, Json>()
  for (const name of memberNames()) {
    if (name === 'docs') {
      other.delete(name)
      drafts = scanner.peek() === 0x5b ? readElements(limits) : undefined
      if (drafts === undefined) other.set(name, readValue())
    } else other.set(name, readValue())
  }
  scanner.expectEnd()
  return checkedBulk(drafts, other)
}

/**
 * A document made inside the server. What `body` itself says about id, revision and deletion does
 * not count; unknown special members in it fail with `document_invalid`.
 */
export function fromParts(parts: {
  readonly id?: string | undefined
  readonly rev?: Revision | undefined
  readonly deleted?: boolean | undefined
  readonly body: Buffer | object
}): IncomingDocument {
  const { document } = scanDocument(bodyBytes(parts.body))
  const { id, rev, deleted = false } = parts
  return { ...document, id, rev, revisions: undefined, deleted }
}

function bodyBytes(body: Buffer | object): Buffer {
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(body instanceof Map ? printJson(body) : JSON.stringify(body), 'utf8')
}

/** A document and the first complaint about it, which counts only once all JSON was read. */
interface Draft {
  readonly document: IncomingDocument
  readonly failure: Failure | undefined
}

const EMPTY = Buffer.alloc(0)
const NO_DOCUMENT: IncomingDocument = { deleted: false, body: EMPTY, bodyTerm: EMPTY }

function settle(draft: Draft): IncomingDocument {
  if (draft.failure !== undefined) throw draft.failure
  return draft.document
}

function checkedBulk(drafts: Draft[] | undefined, other: Map<string, Json>): BulkDocs {
  if (drafts === undefined) {
    const reason = other.has('docs')
      ? '`docs` parameter must be an array.'
      : 'POST body must include `docs` parameter.'
    throw new Failure('request_invalid', { reason })
  }
  const newEdits = other.get('new_edits')
  if (newEdits !== undefined && typeof newEdits !== 'boolean') {
    const reason = '`new_edits` parameter must be a boolean.'
    throw new Failure('request_invalid', { reason })
  }
  other.delete('new_edits')
  const documents = drafts.map(settle)
  return newEdits === undefined ? { documents, other } : { documents, newEdits, other }
}

/** The names of the members of the object at hand; the loop's body must read each value. */
function* memberNames(): Generator<string> {
  scanner.expect(0x7b)
  if (scanner.peek() === 0x7d) {
    scanner.at++
    return
  }
  for (;;) {
    scanner.beginText()
    const key = scanner.pairHead()
    yield scanner.term.bytes.toString('utf8', key + 5, scanner.term.at)
    if (scanner.peek() !== 0x2c) break
    scanner.expect(0x2c)
  }
  scanner.expect(0x7d)
}

/** Any value, as exact JSON. */
function readValue(): Json {
  const { value, end } = parseJsonAt(scanner.bytes, scanner.at)
  scanner.at = end
  return value
}

function readElements(limits: DocumentLimits): Draft[] {
  const drafts: Draft[] = []
  scanner.expect(0x5b)
  if (scanner.peek() === 0x5d) {
    scanner.at++
    return drafts
  }
  for (;;) {
    drafts.push(readElement(limits))
    if (scanner.peek() !== 0x2c) break
    scanner.expect(0x2c)
  }
  scanner.expect(0x5d)
  return drafts
}

/** The document at hand. One that has a key twice is brought into order first. */
function readElement(limits: DocumentLimits): Draft {
  if (scanner.peek() !== 0x7b) {
    readValue()
    const reason = 'Document must be a JSON object'
    return { document: NO_DOCUMENT, failure: new Failure('request_invalid', { reason }) }
  }
  const { bytes, at } = scanner
  try {
    return readObject(limits)
  } catch (thrown) {
    if (thrown !== DUPLICATE_KEY) throw thrown
  }
  const { value, end } = parseJsonAt(bytes, at)
  scanner.open(Buffer.from(printJson(value, printSignedDouble), 'utf8'), 0)
  try {
    return readObject(limits)
  } finally {
    scanner.open(bytes, end)
  }
}

/** The hash tells minus zero from zero, though no reader ever sees it. */
const printSignedDouble = (value: number): string =>
  Object.is(value, -0) ? '-0.0' : printDouble(value)

function readObject(limits: DocumentLimits): Draft {
  const special = new SpecialMembers(limits.idBytesMax)
  scanner.beginText()
  readMembers(special)
  const { id, rev, revisions, deleted, attachments } = special
  const body = scanner.text.take()
  const bodyTerm = scanner.term.take()
  const document = { id, rev, revisions, deleted, body, bodyTerm, attachments }
  return { document, failure: special.failure ?? complaintAbout(document, limits) }
}

/** What CouchDB checks once it has the whole document. */
function complaintAbout(document: IncomingDocument, limits: DocumentLimits): Failure | undefined {
  if (limits.bodyBytesMax !== undefined && document.body.length > limits.bodyBytesMax) {
    return new Failure('document_too_large', { reason: document.id ?? '' })
  }
  for (const { name } of document.attachments ?? []) {
    const failure = attachmentNameFailure(name)
    if (failure !== undefined) return failure
  }
  return undefined
}

/**
 * The object at hand: special members go to `special`, the others to the scanner's text and term.
 */
function readMembers(special: SpecialMembers): void {
  const { term } = scanner
  const object = scanner.nextObject()
  term.bytes[term.at++] = TAG.tuple
  term.bytes[term.at++] = 1
  const list = term.at
  term.bytes[list] = TAG.list
  term.at += 5
  let count = 0
  let first = true
  while (nextMember(first, count)) {
    first = false
    if (scanner.runStart < 0 && !beginKept(special, count)) continue
    const key = scanner.pairHead() + 5
    scanner.addKey(object, key, term.at)
    scanner.value()
    count++
  }
  endObject(list, count)
}

/**
 * Goes to the next key. A member that is surely kept and follows its separator at once stays part
 * of the run of bytes to copy; else the run is cut before the separator.
 */
function nextMember(first: boolean, count: number): boolean {
  if (!first) scanner.skipBlanks()
  const { bytes, at } = scanner
  const byte = bytes[at]
  if (!first && byte === 0x7d) return false
  if (byte !== (first ? 0x7b : 0x2c)) throw scanner.invalid()
  const letter = bytes[at + 2]
  if (bytes[at + 1] !== 0x22 || letter === 0x5f || letter === 0x5c) {
    scanner.cut(at)
  } else if (scanner.runStart < 0) {
    beginRun(count, at + 1)
  }
  scanner.at = at + 1
  scanner.skipBlanks()
  return !first || bytes[scanner.at] !== 0x7d
}

/** The text goes on at `at`, with the separator it needs. */
function beginRun(count: number, at: number): void {
  scanner.text.putByte(count === 0 ? 0x7b : 0x2c)
  scanner.runStart = at
}

/**
 * At a key that may be special. True: it is not, the scanner stands before it and its text is kept.
 */
function beginKept(special: SpecialMembers, count: number): boolean {
  const { term, at } = scanner
  const mark = term.at
  const key = scanner.pairHead() + 5
  const isSpecial =
    term.bytes[key] === 0x5f &&
    term.at > key &&
    special.read(scanner, nameAt(term.bytes, key, term.at))
  term.at = mark
  if (isSpecial) return false
  scanner.at = at
  beginRun(count, at)
  return true
}

/** The text of a key, without making it for the one that every document has. */
const nameAt = (bytes: Buffer, start: number, end: number): string =>
  end - start === 3 && bytes[start + 1] === 0x69 && bytes[start + 2] === 0x64
    ? '_id'
    : bytes.toString('utf8', start, end)

function endObject(list: number, count: number): void {
  const { term, text } = scanner
  if (count === 0) {
    text.putByte(0x7b)
    text.putByte(0x7d)
    term.at = list
    term.putByte(TAG.nil)
    scanner.at++
  } else {
    const muted = scanner.runStart < 0
    scanner.cut(++scanner.at)
    if (muted) text.putByte(0x7d)
    scanner.closeList(list, count, false)
  }
  scanner.runStart = -1
}
