/**
 * Revision names: `<pos>-<id>`, for instance `3-9a1f…`.
 *
 * An id of 32 hex digits is kept as its 16 bytes, any other as the bytes of its text; order and
 * equality are those of the decoded bytes (a 16-byte text prints as hex, as in CouchDB). Trees of
 * revisions, and who may extend which, are told elsewhere.
 */
import { Failure } from '../../base/errors.ts'

export interface Revision {
  readonly pos: number
  readonly id: Buffer
}

/** A line of descent, not empty: `start` is the pos of the newest, `ids` are newest first. */
export interface RevisionPath {
  readonly start: number
  readonly ids: readonly Buffer[]
}

/** The text as clients write it. Fails with `request_invalid` "Invalid rev format". */
export function parseRevision(text: unknown): Revision {
  if (typeof text !== 'string') throw invalidRevision()
  const dash = text.indexOf('-')
  if (dash < 1 || !isDigits(text, dash)) throw invalidRevision()
  const pos = Number(text.slice(0, dash))
  if (!Number.isSafeInteger(pos)) throw invalidRevision()
  const id = parseRevisionId(text.slice(dash + 1))
  if (id === undefined) throw invalidRevision()
  return { pos, id }
}

/** The part after the dash; undefined when it is 32 bytes long and not hexadecimal. */
export function parseRevisionId(text: string): Buffer | undefined {
  if (text.length === 32) {
    const id = Buffer.from(text, 'hex')
    if (id.length === 16) return id
  }
  const id = Buffer.from(text, 'utf8')
  return id.length === 32 ? undefined : id
}

export const printRevision = (rev: Revision): string => `${rev.pos}-${printRevisionId(rev.id)}`

export const printRevisionId = (id: Buffer): string =>
  id.length === 16 ? id.toString('hex') : id.toString('utf8')

export const sameRevision = (a: Revision, b: Revision): boolean =>
  a.pos === b.pos && a.id.equals(b.id)

/** Ascending by pos, then by bytes of the id. */
export const compareRevisions = (a: Revision, b: Revision): number =>
  a.pos - b.pos || Buffer.compare(a.id, b.id)

const invalidRevision = () => new Failure('request_invalid', { reason: 'Invalid rev format' })

function isDigits(text: string, end: number): boolean {
  for (let at = 0; at < end; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x30 || code > 0x39) return false
  }
  return true
}
