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
import { decodeChange, encodeChange } from './change-entry.ts'
import type { Database } from './database.ts'
import { decodeHead } from './database-head.ts'
import {
  changeKey,
  changesAfter,
  documentKey,
  documentKeyOfIdBytes,
  documentsBetween,
  HEAD,
  idOfKey,
  seqOfKey,
} from './keyspace.ts'
import { countAfter } from './sequence-counts.ts'
import { decodeDocument, type StoredDocument } from './stored-document.ts'

/** One document at its latest sequence: the entry as it is stored, and where things are in it. */
export class Change {
  readonly seq: number
  /** See `change-entry.ts`. */
  readonly entry: Buffer
  readonly leafCount: number
  readonly winnerPos: number
  readonly winnerStart: number
  readonly winnerEnd: number
  /** From here to the end of the entry is the id, as UTF-8. */
  readonly idStart: number
  /** The document's record as it is stored, when it was asked for. */
  readonly record: Buffer | undefined

  constructor(seq: number, entry: Buffer, record?: Buffer) {
    const reader = new ByteReader(entry, 1)
    this.seq = seq
    this.entry = entry
    this.record = record
    this.leafCount = reader.varint()
    this.winnerPos = reader.varint()
    const idLength = reader.varint()
    this.winnerStart = reader.position
    reader.skip(idLength)
    this.winnerEnd = reader.position
    for (let left = this.leafCount - 1; left > 0; left--) {
      reader.varint()
      reader.skip(reader.varint())
    }
    this.idStart = reader.position
  }

  /** The winner is deleted. */
  get deleted(): boolean {
    return this.entry[0] === 1
  }

  get id(): string {
    return this.entry.toString('utf8', this.idStart)
  }

  /** UTF-8. */
  get idBytes(): Buffer {
    return this.entry.subarray(this.idStart)
  }

  /** Winner first. */
  get leaves(): readonly Revision[] {
    return decodeChange(this.seq, this.entry).leaves
  }
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

export async function readChanges(
  database: Database,
  request: BatchRequest,
): Promise<ChangesBatch> {
  return database.read(function* (tx) {
    const { from, descending, limit, withRecords } = request
    const head = yield* tx.get(HEAD)
    if (head === undefined) throw database.missing()
    const range = descending
      ? { start: changeKey(0), end: changeKey(from) }
      : { start: changeKey(from + 1), end: changesAfter(from).end }
    const rows = yield* tx.scan(range, { limit, reverse: descending })
    const headSeq = decodeHead(head).updateSeq
    const isLast = rows.length < limit
    if (!withRecords) return { changes: rows.map(changeOfRow), headSeq, isLast }
    const changes = yield* withRecordsOf(tx, rows)
    return { changes, headSeq, isLast: isLast && changes.length === rows.length }
  })
}

const changeOfRow = ({ key, value }: Entry): Change => new Change(seqOfKey(key), value)

/** As many of the changes, from the first on, as have records within the bound; at least one. */
function* withRecordsOf(tx: ReadTx, rows: readonly Entry[]): Steps<Change[]> {
  const loaded: Change[] = []
  let bytes = 0
  for (let at = 0; at < rows.length && bytes < RECORD_BYTES_MAX; at += RECORDS_STEP) {
    const step = rows.slice(at, at + RECORDS_STEP).map(changeOfRow)
    const records = yield* tx.getMany(step.map(keyOf))
    for (let index = 0; index < step.length; index++) {
      const change = step[index] as Change
      const record = records[index]
      bytes += record?.length ?? 0
      loaded.push(record === undefined ? change : new Change(change.seq, change.entry, record))
    }
  }
  return loaded
}

const keyOf = ({ entry, idStart }: Change): Buffer => documentKeyOfIdBytes(entry, idStart)

/** The same changes with their records, for changes that were found otherwise; as many as the bound allows. */
export async function loadRecords(
  database: Database,
  changes: readonly Change[],
): Promise<Change[]> {
  const rows = changes.map(({ seq, entry }) => ({ key: changeKey(seq), value: entry }))
  return database.read(tx => withRecordsOf(tx, rows))
}

/** What was found by looking at documents instead of the sequence index; in ascending order. */
export interface FoundChanges {
  readonly changes: readonly Change[]
  readonly headSeq: number
  /** Changes of all documents after the sequence. */
  readonly count: number
}

/** The changes of a few documents after a sequence. */
export async function changesOfDocuments(
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
        const change = changeOf(decodeDocument(record, id))
        if (change.seq > after) found.push(change)
      }
    }
    return yield* finishFound(tx, database, found, after)
  })
}

/** The changes of design documents after a sequence. */
export async function changesOfDesignDocuments(
  database: Database,
  after: number,
): Promise<FoundChanges> {
  return database.read(function* (tx) {
    const found: Change[] = []
    let range = documentsBetween(DESIGN_START, DESIGN_END)
    for (;;) {
      const rows = yield* tx.scan(range, { limit: 100, bytesMax: RECORD_BYTES_MAX })
      for (const { key, value } of rows) {
        const change = changeOf(decodeDocument(value, idOfKey(key)))
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
function changeOf({ id, seq, deleted, winner, conflicted, tree }: StoredDocument): Change {
  const revs = conflicted ? leaves(decodeTree(tree)) : [winner]
  return new Change(seq, encodeChange({ id, deleted, leaves: revs }))
}

/** How many changes come after a sequence, and how many there are in all. */
export async function countChanges(
  database: Database,
  seq: number,
): Promise<{ readonly after: number; readonly all: number }> {
  return database.read(function* (tx) {
    return { after: yield* countAfter(tx, seq), all: yield* countAfter(tx, 0) }
  })
}
