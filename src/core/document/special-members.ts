/**
 * The members of a document whose names begin with an underscore: which are used, dropped, kept as
 * ordinary ones or refused, and what the used ones must look like. A complaint is noted, not
 * thrown, since errors of the JSON further on come first.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import { DUPLICATE_KEY, type JsonScanner } from '../../base/json/scan.ts'
import { validateDocumentId } from './document-id.ts'
import { type IncomingAttachment, readAttachments } from './incoming-attachment.ts'
import { parseRevision, parseRevisionId, type Revision } from './revision.ts'

export class SpecialMembers {
  id: string | undefined
  rev: Revision | undefined
  revisions: { start: number; ids: Buffer[] } | undefined
  deleted = false
  attachments: IncomingAttachment[] | undefined
  /** The first complaint. */
  failure: Failure | undefined
  /** The used members that were there, a bit each. */
  #seen = 0

  readonly #idBytesMax: number | undefined

  constructor(idBytesMax: number | undefined) {
    this.#idBytesMax = idBytesMax
  }

  /**
   * The scanner stands at the value of member `name`. False: an ordinary member after all, nothing
   * was read.
   */
  read(scanner: JsonScanner, name: string): boolean {
    if (KEPT.has(name)) return false
    try {
      this.#read(scanner, name)
    } catch (thrown) {
      // all readers have consumed the value before they complain
      if (!isFailure(thrown) || thrown.code === 'json_invalid') throw thrown
      this.failure ??= thrown
    }
    return true
  }

  #read(scanner: JsonScanner, name: string): void {
    switch (name) {
      case '_id':
        this.#once(1)
        this.#readId(scanner)
        return
      case '_rev':
        this.#once(2)
        this.#readRev(scanner)
        return
      case '_deleted':
        this.#once(4)
        this.#readDeleted(scanner)
        return
      case '_revisions':
        this.#once(8)
        this.#readRevisions(scanner)
        return
      case '_attachments':
        this.#once(16)
        this.#readAttachments(scanner)
        return
      default:
        scanner.value()
        if (!DROPPED.has(name)) throw badMember(name)
    }
  }

  #once(bit: number): void {
    if ((this.#seen & bit) !== 0) throw DUPLICATE_KEY
    this.#seen |= bit
  }

  #readId(scanner: JsonScanner): void {
    const id = readText(scanner)
    validateDocumentId(id, this.#idBytesMax)
    this.id = id
  }

  #readRev(scanner: JsonScanner): void {
    const text = readText(scanner)
    // `_revisions` beats it, and then nobody looks at it
    if (this.revisions === undefined) this.rev = parseRevision(text)
  }

  #readDeleted(scanner: JsonScanner): void {
    const first = scanner.bytes[scanner.at]
    scanner.value()
    if (first !== 0x74 && first !== 0x66) throw badMember('_deleted')
    this.deleted = first === 0x74
  }

  #readRevisions(scanner: JsonScanner): void {
    const start = scanner.at
    scanner.value()
    if (scanner.bytes[start] !== 0x7b) throw badMember('_revisions')
    // checked by the scanner, and no key is there twice
    const value: { start?: unknown; ids?: unknown } = JSON.parse(
      scanner.bytes.toString('utf8', start, scanner.at),
    )
    const revisions = checkedRevisions(value)
    const newest = revisions.ids[0]
    if (newest === undefined) return
    this.revisions = revisions
    this.rev = { pos: revisions.start, id: newest }
  }

  #readAttachments(scanner: JsonScanner): void {
    if (scanner.bytes[scanner.at] === 0x7b) {
      this.attachments = readAttachments(scanner)
      return
    }
    scanner.value()
    throw badMember('_attachments')
  }
}

const DROPPED = new Set(['_revs_info', '_local_seq', '_conflicts', '_deleted_conflicts'])
const KEPT = new Set([
  '_replication_state',
  '_replication_state_time',
  '_replication_state_reason',
  '_replication_id',
  '_replication_stats',
  '_access',
])

const invalidDocument = (reason: string) => new Failure('document_invalid', { reason })
const badMember = (name: string) => invalidDocument(`Bad special document member: ${name}`)

/** Consumes a value; undefined when it is no string. */
function readText(scanner: JsonScanner): string | undefined {
  if (scanner.bytes[scanner.at] !== 0x22) {
    scanner.value()
    return undefined
  }
  const { term } = scanner
  const head = term.at
  scanner.string()
  return scanner.term.bytes.toString('utf8', head + 5, term.at)
}

function checkedRevisions(value: { start?: unknown; ids?: unknown }) {
  const { start, ids } = value
  if (typeof start !== 'number' || !Number.isSafeInteger(start) || start < 0) {
    throw invalidDocument("_revisions.start isn't an integer.")
  }
  if (!Array.isArray(ids)) throw invalidDocument("_revisions.ids isn't a array.")
  const decoded = ids.map(id => {
    if (typeof id !== 'string') throw invalidDocument("RevId isn't a string")
    const bytes = parseRevisionId(id)
    if (bytes === undefined) throw invalidDocument("RevId isn't a valid hexadecimal")
    return bytes
  })
  // there is nothing before the first revision
  return { start, ids: decoded.slice(0, Math.max(1, start)) }
}
