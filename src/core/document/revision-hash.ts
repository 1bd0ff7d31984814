/**
 * The id of a new revision: the MD5 of the external term `[deleted, parent's pos, parent's id,
 * body, attachments]`, byte for byte what CouchDB computes, so that the same edit made in two
 * places is one revision.
 */
import { hash } from 'node:crypto'
import { TAG, TermBuffer } from '../../base/json/term-buffer.ts'
import type { Revision } from './revision.ts'

export interface HashedAttachment {
  readonly name: string
  readonly contentType: string
  /** Of the stored bytes: of the compressed ones if they are stored so. */
  readonly md5: Buffer
}

// filled and read within one synchronous call
const term = new TermBuffer()

export function newRevisionId(edit: {
  readonly deleted: boolean
  readonly parent?: Revision | undefined
  readonly bodyTerm: Buffer
  /** In stored order. */
  readonly attachments?: readonly HashedAttachment[] | undefined
  /** The parent is a tombstone: CouchDB then knows of attachments only how many there are. */
  readonly recreates?: boolean | undefined
}): Buffer {
  term.reset()
  term.putByte(TAG.version)
  term.putByte(TAG.list)
  term.putUint32(5)
  term.putBoolean(edit.deleted)
  if (edit.parent === undefined) {
    term.putInteger(0)
    term.putInteger(0)
  } else {
    term.putInteger(edit.parent.pos)
    term.putBinary(edit.parent.id)
  }
  term.putBytes(edit.bodyTerm)
  putAttachments(edit.attachments ?? [], edit.recreates === true)
  term.putByte(TAG.nil)
  // a string of bytes comes back faster than a buffer does
  return Buffer.from(hash('md5', term.bytes.subarray(0, term.at), 'binary'), 'latin1')
}

/** Name, type and digest of one attachment that are all unknown. */
const UNKNOWN = Buffer.from('undefined')
const UNKNOWN_ATOM = Buffer.from([TAG.atom, 0, UNKNOWN.length, ...UNKNOWN])
const UNKNOWN_ATTACHMENT = Buffer.concat([UNKNOWN_ATOM, UNKNOWN_ATOM, UNKNOWN_ATOM])

function putAttachments(attachments: readonly HashedAttachment[], areUnknown: boolean): void {
  if (attachments.length > 0) {
    term.putByte(TAG.list)
    term.putUint32(attachments.length)
  }
  for (let index = attachments.length - 1; index >= 0; index--) {
    const { name, contentType, md5 } = attachments[index] as HashedAttachment
    term.putByte(TAG.tuple)
    term.putByte(3)
    if (areUnknown) {
      term.putBytes(UNKNOWN_ATTACHMENT)
      continue
    }
    term.putText(name)
    term.putText(contentType)
    term.putBinary(md5)
  }
  term.putByte(TAG.nil)
}
