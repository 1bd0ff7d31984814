/**
 * The record of a document: everything an ordinary read needs, in one engine value.
 *
 *   format     u8        1
 *   flags      u8        1 = the document is deleted, 2 = it has other leaves than the winner, 4 = the id follows
 *   id         text      only with flag 4: the id was too long to be in the key
 *   seq        varint    sequence of the last change
 *   winner     varint pos, run id
 *   bodyKey    varint    the winner's own body key (its body is here, not there, while it wins)
 *   tree       run       the revision tree (core/document)
 *   attached   run       attachments of the winner (core/document/attachment)
 *   body       the rest  JSON object text without special members
 *
 * GET copies `body` between `_id`, `_rev` and what was asked for beside; the tree stays bytes until somebody edits.
 * Bodies of other revisions lie under keys of their own as id, `attached` and `body` (StoredBody).
 */
import { ByteReader, ByteWriter } from '../../base/bytes.ts'
import { Failure } from '../../base/errors.ts'
import type { Revision } from '../document/revision.ts'

export interface StoredDocument {
  readonly id: string
  readonly deleted: boolean
  /** True when there are leaves beside the winner, live or deleted. */
  readonly conflicted: boolean
  readonly seq: number
  readonly winner: Revision
  readonly bodyKey: number
  readonly tree: Buffer
  readonly attachments: Buffer
  readonly body: Buffer
}

export interface StoredBody {
  /** Whose body it is: compaction walks bodies and asks their documents whether they still matter. */
  readonly id: string
  readonly attachments: Buffer
  readonly body: Buffer
}

const FORMAT = 1
const DELETED = 1
const CONFLICTED = 2
const HAS_ID = 4

export function encodeDocument(document: StoredDocument, idIsInKey: boolean): Buffer {
  const { winner, tree, attachments, body } = document
  const flags =
    (document.deleted ? DELETED : 0) |
    (document.conflicted ? CONFLICTED : 0) |
    (idIsInKey ? 0 : HAS_ID)
  const writer = new ByteWriter(64 + tree.length + attachments.length + body.length)
    .u8(FORMAT)
    .u8(flags)
  if (!idIsInKey) writer.text(document.id)
  return writer
    .varint(document.seq)
    .varint(winner.pos)
    .run(winner.id)
    .varint(document.bodyKey)
    .run(tree)
    .run(attachments)
    .bytes(body)
    .finish()
}

/** @param idInKey what the key says the id is; undefined when the id is in the record */
export function decodeDocument(bytes: Buffer, idInKey: string | undefined): StoredDocument {
  const reader = new ByteReader(bytes)
  const format = reader.u8()
  if (format !== FORMAT) {
    throw new Failure('storage_newer', { reason: `unknown document format ${format}` })
  }
  const flags = reader.u8()
  const id = flags & HAS_ID ? reader.text() : idInKey
  if (id === undefined) throw new Failure('storage_corrupt', { reason: 'a document without id' })
  return {
    id,
    deleted: (flags & DELETED) !== 0,
    conflicted: (flags & CONFLICTED) !== 0,
    seq: reader.varint(),
    winner: { pos: reader.varint(), id: reader.run() },
    bodyKey: reader.varint(),
    tree: reader.run(),
    attachments: reader.run(),
    body: reader.rest(),
  }
}

/** Without decoding the record. */
export const isTombstone = (record: Buffer): boolean => ((record[1] as number) & DELETED) !== 0

/** The sequence of its last change, without decoding the record. */
export function seqOfRecord(record: Buffer): number {
  const reader = new ByteReader(record, 2)
  if (((record[1] as number) & HAS_ID) !== 0) reader.skip(reader.varint())
  return reader.varint()
}

/** The id that a record carries because its key is too short for it. */
export function longIdOfDocument(record: Buffer): Buffer {
  if (((record[1] as number) & HAS_ID) !== 0) return new ByteReader(record, 2).run()
  throw new Failure('storage_corrupt', { reason: 'a document without id' })
}

/** Where things are in a record, for those who copy bytes and decode nothing. */
export interface RecordPlaces {
  readonly conflicted: boolean
  readonly pos: number
  readonly revIdStart: number
  readonly revIdEnd: number
  readonly hasAttachments: boolean
  readonly bodyStart: number
}

export function placesIn(record: Buffer): RecordPlaces {
  const reader = new ByteReader(record, 2)
  const flags = record[1] as number
  if (record[0] !== FORMAT) {
    throw new Failure('storage_newer', { reason: `unknown document format ${record[0]}` })
  }
  if (flags & HAS_ID) reader.skip(reader.varint())
  reader.varint()
  const pos = reader.varint()
  const idLength = reader.varint()
  const revIdStart = reader.position
  reader.skip(idLength)
  reader.varint()
  reader.skip(reader.varint())
  const attachedLength = reader.varint()
  reader.skip(attachedLength)
  return {
    conflicted: (flags & CONFLICTED) !== 0,
    pos,
    revIdStart,
    revIdEnd: revIdStart + idLength,
    hasAttachments: attachedLength > 0,
    bodyStart: reader.position,
  }
}

export function encodeBody({ id, attachments, body }: StoredBody): Buffer {
  return new ByteWriter(16 + id.length * 3 + attachments.length + body.length)
    .text(id)
    .run(attachments)
    .bytes(body)
    .finish()
}

export function decodeBody(bytes: Buffer): StoredBody {
  const reader = new ByteReader(bytes)
  return { id: reader.text(), attachments: reader.run(), body: reader.rest() }
}
