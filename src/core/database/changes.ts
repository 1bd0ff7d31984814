/**
 * Reading the sequence index: what changed after a sequence, in order, in batches that are each one consistent look
 * at the store. The head is read in the same look, so a batch that says it is the last has seen everything up to
 * `headSeq`.
 *
 * Nothing is decoded that a feed does not print: ids stay bytes, documents stay records. What a batch holds is bounded
 * by rows and by bytes. Who waits for the next change, and for whom, is told in `change-followers.ts`.
 */
import { ByteReader } from '../../base/bytes.ts'
import type { Entry, ReadTx, Steps } from '../../engine/engine.ts'
import type { Revision } from '../document/revision.ts'
import { leaves } from '../document/revision-tree.ts'
import { decodeTree } from '../document/revision-tree-codec.ts'
import type { Database } from './database.ts'
import { decodeHead } from './database-head.ts'
import {
  changeKey,
  changesAfter,
  documentKey,
  documentKeyOfIdBytes,
  documentsBetween,
  HEAD,
  seqOfKey,
} from './keyspace.ts'
import { countAfter } from './sequence-counts.ts'
import { decodeDocument, longIdOfDocument, type StoredDocument } from './stored-document.ts'

/** One document at its latest sequence. */
export interface Change {
  readonly seq: number
  /** UTF-8. */
  readonly idBytes: Buffer
  /** The winner is deleted. */
  readonly deleted: boolean
  /** Winner first. */
  readonly leaves: readonly Revision[]
  /** The document's record as it is stored, when it was asked for. */
  readonly record?: Buffer
}

export interface ChangesBatch {
  readonly changes: readonly Change[]
  /** The newest sequence of the database when the batch was read. */
  readonly headSeq: number
  /** Nothing lies beyond this batch in the direction of reading. */
  readonly isLast: boolean
}

export interface BatchRequest {
  /** Starts after this sequence; when descending, before it. */
  readonly from: number
  readonly descending: boolean
  readonly limit: number
  readonly withRecords: boolean
}

/** Records of one batch, added up, before it is cut short. */
const RECORD_BYTES_MAX = 512 * 1024
/** Records read before their size is looked at: one step may go over the bound, no more. */
const RECORDS_STEP = 16

export function readChanges(database: Database, request: BatchRequest): Promise<ChangesBatch> {
  return database.read(function* (tx) {
    const { from, descending, limit, withRecords } = request
    const head = yield* tx.get(HEAD)
    if (head === undefined) throw database.missing()
    const range = descending
      ? { start: changeKey(0), end: changeKey(from) }
      : { start: changeKey(from + 1), end: changesAfter(from).end }
    const rows = yield* tx.scan(range, { limit, reverse: descending })
    const headSeq = decodeHead(head).updateSeq
    const found = rows.map(decodeRow)
    const isLast = rows.length < limit
    if (!withRecords) return { changes: found, headSeq, isLast }
    const changes = yield* withRecordsOf(tx, found)
    return { changes, headSeq, isLast: isLast && changes.length === found.length }
  })
}

function decodeRow(row: Entry): Change {
  const reader = new ByteReader(row.value)
  const deleted = reader.u8() === 1
  const count = reader.varint()
  const revs: Revision[] = [{ pos: reader.varint(), id: reader.run() }]
  for (let left = count - 1; left > 0; left--) revs.push({ pos: reader.varint(), id: reader.run() })
  return { seq: seqOfKey(row.key), deleted, leaves: revs, idBytes: reader.rest() }
}

/** As many of the changes, from the first on, as have records within the bound; at least one. */
function* withRecordsOf(tx: ReadTx, changes: readonly Change[]): Steps<Change[]> {
  const loaded: Change[] = []
  let bytes = 0
  for (let at = 0; at < changes.length && bytes < RECORD_BYTES_MAX; at += RECORDS_STEP) {
    const step = changes.slice(at, at + RECORDS_STEP)
    const records = yield* tx.getMany(step.map(each => documentKeyOfIdBytes(each.idBytes)))
    for (let index = 0; index < step.length; index++) {
      const { seq, idBytes, deleted, leaves: revs } = step[index] as Change
      const record = records[index]
      bytes += record?.length ?? 0
      loaded.push(
        record === undefined
          ? { seq, idBytes, deleted, leaves: revs }
          : { seq, idBytes, deleted, leaves: revs, record },
      )
    }
  }
  return loaded
}

/** The same changes with their records, for changes that were found otherwise; as many as the bound allows. */
export function loadRecords(database: Database, changes: readonly Change[]): Promise<Change[]> {
  return database.read(tx => withRecordsOf(tx, changes))
}

/** What was found by looking at documents instead of the sequence index; in ascending order. */
export interface FoundChanges {
  readonly changes: readonly Change[]
  readonly headSeq: number
  /** Changes of all documents after the sequence. */
  readonly count: number
}

/** The changes of a few documents after a sequence. */
export function changesOfDocuments(
  database: Database,
  ids: readonly string[],
  after: number,
): Promise<FoundChanges> {
  return database.read(function* (tx) {
    const found: Change[] = []
    for (let at = 0; at < ids.length; at += RECORDS_STEP) {
      const step = ids.slice(at, at + RECORDS_STEP)
      const records = yield* tx.getMany(step.map(documentKey))
      for (const [index, record] of records.entries()) {
        if (record === undefined) continue
        const id = step[index] as string
        const change = changeOf(decodeDocument(record, id), Buffer.from(id))
        if (change.seq > after) found.push(change)
      }
    }
    return yield* finishFound(tx, database, found, after)
  })
}

/** The changes of design documents after a sequence. */
export function changesOfDesignDocuments(database: Database, after: number): Promise<FoundChanges> {
  return database.read(function* (tx) {
    const found: Change[] = []
    let range = documentsBetween(DESIGN_START, DESIGN_END)
    for (;;) {
      const rows = yield* tx.scan(range, { limit: 100, bytesMax: RECORD_BYTES_MAX })
      for (const { key, value } of rows) {
        const idBytes = key.length > LONGEST_KEY ? longIdOfDocument(value) : key.subarray(1)
        const change = changeOf(decodeDocument(value, idBytes.toString()), idBytes)
        if (change.seq > after) found.push(change)
      }
      const last = rows.at(-1)
      if (last === undefined) break
      range = { start: Buffer.concat([last.key, Buffer.of(0)]), end: range.end }
    }
    return yield* finishFound(tx, database, found, after)
  })
}

const DESIGN_START = Buffer.from('_design/')
const DESIGN_END = Buffer.from('_design0')
const LONGEST_KEY = documentKeyOfIdBytes(Buffer.alloc(1024)).length

function* finishFound(
  tx: ReadTx,
  database: Database,
  found: Change[],
  after: number,
): Steps<FoundChanges> {
  const head = yield* tx.get(HEAD)
  if (head === undefined) throw database.missing()
  const count = yield* countAfter(tx, after)
  const changes = found.sort((a, b) => a.seq - b.seq)
  return { changes, headSeq: decodeHead(head).updateSeq, count }
}

/** Only what a row prints is kept: the record may be large. */
function changeOf(document: StoredDocument, idBytes: Buffer): Change {
  const { seq, deleted, winner, conflicted } = document
  const revs = conflicted ? leaves(decodeTree(document.tree)) : [winner]
  const own = revs.map(({ pos, id }) => ({ pos, id: Buffer.from(id) }))
  return { seq, deleted, leaves: own, idBytes: Buffer.from(idBytes) }
}

/** How many changes come after a sequence, and how many there are in all. */
export function countChanges(
  database: Database,
  seq: number,
): Promise<{ readonly after: number; readonly all: number }> {
  return database.read(function* (tx) {
    return { after: yield* countAfter(tx, seq), all: yield* countAfter(tx, 0) }
  })
}
