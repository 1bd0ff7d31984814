/**
 * A document's text with what a replication must know of it: its id, its revision, and whether it has attachments.
 * Every document that is replicated passes here, so it is one walk over the bytes that makes texts only of the few
 * members that matter.
 */
import { endOfString, endOfValue, malformed, type Span, skipBlanks, stringAt } from './cut-json.ts'
import type { FetchedDocument } from './peer.ts'
import { passing } from './retry.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const UNDERSCORE = 0x5f
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Fails when a document does not say who it is, or says that it is another one than was asked for. */
export function fetchedDocument(bytes: Buffer, span: Span, wantedId: string): FetchedDocument {
  const { document, end } = fetchedDocumentAt(bytes, span.start, wantedId)
  if (end !== span.end) throw malformed()
  return document
}

/** The document at `start`; `end` is behind it. */
export function fetchedDocumentAt(
  bytes: Buffer,
  start: number,
  wantedId: string,
): { document: FetchedDocument; end: number } {
  let id: string | undefined
  let rev: string | undefined
  let hasAttachments = false
  if (bytes[start] !== OPEN_BRACE) throw malformed()
  let at = skipBlanks(bytes, start + 1)
  while (bytes[at] !== CLOSE_BRACE) {
    const keyEnd = endOfString(bytes, at)
    let valueAt = skipBlanks(bytes, keyEnd)
    if (bytes[valueAt] !== COLON) throw malformed()
    valueAt = skipBlanks(bytes, valueAt + 1)
    const end = endOfValue(bytes, valueAt)
    if (bytes[at + 1] === UNDERSCORE) {
      const key = bytes.toString('latin1', at + 1, keyEnd - 1)
      if (key === '_id') id = stringAt(bytes, { start: valueAt, end })
      else if (key === '_rev') rev = stringAt(bytes, { start: valueAt, end })
      else if (key === '_attachments') hasAttachments = isNotEmpty(bytes, valueAt)
    }
    at = skipBlanks(bytes, end)
    if (bytes[at] === COMMA) {
      at = skipBlanks(bytes, at + 1)
      if (bytes[at] !== QUOTE) throw malformed()
    } else if (bytes[at] !== CLOSE_BRACE) throw malformed()
  }
  if (id !== wantedId || rev === undefined) throw passing('the other server sent a wrong document')
  const end = at + 1
  return { document: { id, rev, text: bytes.subarray(start, end), hasAttachments }, end }
}

const isNotEmpty = (bytes: Buffer, start: number): boolean =>
  bytes[start] === OPEN_BRACE && bytes[skipBlanks(bytes, start + 1)] !== CLOSE_BRACE
