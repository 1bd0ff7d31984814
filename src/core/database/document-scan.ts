/**
 * Documents in exact order of their ids, in batches, at the consumer's pace. Every batch is read afresh, so no snapshot
 * lives between two batches; rows carry offsets into the stored bytes, so a listing copies and parses nothing.
 *
 * Ids that are too long for a key lie ordered by their hash behind the first bytes they share. Such a group is put into
 * exact order here, some hundred ids at a time: memory stays bounded however large the group is.
 * Stretches of ids where all documents are deleted are jumped over (`id-counts.ts`).
 */
import type { Entry, Range, Store } from '../../engine/engine.ts'
import { nextLiveStretch } from './id-counts.ts'
import { DOCUMENTS, ID_BYTES_MAX, LOCALS } from './keyspace.ts'
import { longIdOfLocal } from './local-documents.ts'
import { isTombstone, longIdOfDocument } from './stored-document.ts'

/** Ids from `start` to `end`, as bytes, whatever the direction; a side that is absent is open. */
export interface IdBounds {
  readonly start?: Buffer | undefined
  readonly startExcluded?: boolean
  readonly end?: Buffer | undefined
  readonly endExcluded?: boolean
}

export interface DocumentScanOptions {
  readonly reverse?: boolean
  /** Rows in one batch at the most; the first ones may be asked for in a small batch. */
  readonly batchCountMax?: number
  /** Live documents to leave out at the beginning. */
  readonly skip?: number
}

/** A row of the scan: where in its bytes the id is, and the stored value. */
export interface ScannedRow {
  readonly idSource: Buffer
  readonly idStart: number
  readonly idEnd: number
  readonly value: Buffer
}

const BATCH_COUNT_MAX = 1000
const BATCH_BYTES_MAX = 1024 * 1024
/** Ids of a group that are put in order at a time. */
const GROUP_COUNT_MAX = 256

interface Kind {
  readonly range: Range
  readonly hasTombstones: boolean
  /** The id inside a value whose key is too short for it. */
  readonly longId: (value: Buffer) => Buffer
}

const DOCUMENT_KIND: Kind = {
  range: DOCUMENTS,
  hasTombstones: true,
  longId: longIdOfDocument,
}
const LOCAL_KIND: Kind = { range: LOCALS, hasTombstones: false, longId: longIdOfLocal }

/** Live documents. */
export const scanLiveDocuments = (
  store: Store,
  bounds: IdBounds,
  options: DocumentScanOptions = {},
): AsyncGenerator<ScannedRow[], void, undefined> => scan(DOCUMENT_KIND, store, bounds, options)

export const scanLocalDocuments = (
  store: Store,
  bounds: IdBounds,
  options: DocumentScanOptions = {},
): AsyncGenerator<ScannedRow[], void, undefined> => scan(LOCAL_KIND, store, bounds, options)

/** How many live documents a range holds, by looking at each: for ranges known to be short. */
export async function countLive(store: Store, bounds: IdBounds): Promise<number> {
  let count = 0
  for await (const rows of scanLiveDocuments(store, bounds)) count += rows.length
  return count
}

async function* scan(
  kind: Kind,
  store: Store,
  bounds: IdBounds,
  options: DocumentScanOptions,
): AsyncGenerator<ScannedRow[], void, undefined> {
  let left = options.skip ?? 0
  for await (const rows of scanWithin(kind, store, bounds, options)) {
    if (left >= rows.length) left -= rows.length
    else {
      yield left === 0 ? rows : rows.slice(left)
      left = 0
    }
  }
}

async function* scanWithin(
  kind: Kind,
  store: Store,
  bounds: IdBounds,
  options: DocumentScanOptions,
): AsyncGenerator<ScannedRow[], void, undefined> {
  const reverse = options.reverse ?? false
  const limit = Math.max(1, Math.min(options.batchCountMax ?? BATCH_COUNT_MAX, BATCH_COUNT_MAX))
  let rest = keyRange(kind, bounds)
  while (Buffer.compare(rest.start, rest.end) < 0) {
    const range = rest
    const entries = await store.read(tx =>
      tx.scan(range, { limit, bytesMax: BATCH_BYTES_MAX, reverse }),
    )
    const last = entries.at(-1)
    if (last === undefined) return
    const groupAt = entries.findIndex(entry => isLong(entry.key))
    const rows = liveRows(kind, groupAt < 0 ? entries : entries.slice(0, groupAt))
    if (rows.length > 0) yield rows
    if (groupAt >= 0) {
      const prefix = prefixOf((entries[groupAt] as Entry).key)
      yield* scanGroup(kind, store, { prefix, bounds, reverse })
      rest = beyondGroup(rest, prefix, reverse)
    } else {
      rest = reverse
        ? { start: rest.start, end: last.key }
        : { start: keyAfter(last.key), end: rest.end }
      if (rows.length === 0 && kind.hasTombstones) rest = await jump(store, rest, reverse)
    }
  }
}

/** All of a batch was deleted: goes to the next stretch that has live documents. */
async function jump(store: Store, rest: Range, reverse: boolean): Promise<Range> {
  const at = Buffer.from((reverse ? rest.end : rest.start).subarray(1))
  const stretch = await store.read(tx => nextLiveStretch(tx, at, reverse))
  if (stretch === 'here') return rest
  if (stretch === undefined) return { start: rest.start, end: rest.start }
  const key = Buffer.concat([DOCUMENTS.start, stretch])
  if (reverse) return Buffer.compare(key, rest.end) < 0 ? { start: rest.start, end: key } : rest
  return Buffer.compare(key, rest.start) > 0 ? { start: key, end: rest.end } : rest
}

function liveRows(kind: Kind, entries: readonly Entry[]): ScannedRow[] {
  const rows: ScannedRow[] = []
  for (const { key, value } of entries) {
    if (kind.hasTombstones && isTombstone(value)) continue
    rows.push({ idSource: key, idStart: 1, idEnd: key.length, value })
  }
  return rows
}

const keyAfter = (key: Uint8Array): Buffer => Buffer.concat([key, Buffer.of(0)])

const isLong = (key: Buffer): boolean => key.length > 1 + ID_BYTES_MAX
const prefixOf = (key: Buffer): Buffer => key.subarray(0, 1 + ID_BYTES_MAX)

/** Keys that may hold ids within the bounds; those of a long bound's group are looked at one by one later. */
function keyRange(kind: Kind, { start, startExcluded, end, endExcluded }: IdBounds): Range {
  const first = kind.range.start
  const startKey = start && Buffer.concat([first, start.subarray(0, ID_BYTES_MAX)])
  const endKey = end && Buffer.concat([first, end.subarray(0, ID_BYTES_MAX)])
  const isStartCut = start !== undefined && start.length > ID_BYTES_MAX
  const isEndCut = end !== undefined && end.length > ID_BYTES_MAX
  return {
    start:
      startKey === undefined ? first : startExcluded || isStartCut ? keyAfter(startKey) : startKey,
    end:
      endKey === undefined
        ? kind.range.end
        : isEndCut
          ? behindGroup(endKey)
          : endExcluded
            ? endKey
            : keyAfter(endKey),
  }
}

const HIGHEST = Buffer.alloc(33, 0xff)
const behindGroup = (prefix: Buffer): Buffer => Buffer.concat([prefix, HIGHEST])

const beyondGroup = (rest: Range, prefix: Buffer, reverse: boolean): Range =>
  reverse
    ? { start: rest.start, end: keyAfter(prefix) }
    : { start: behindGroup(prefix), end: rest.end }

interface Group {
  /** Of the keys, with the byte of their kind. */
  readonly prefix: Buffer
  readonly bounds: IdBounds
  readonly reverse: boolean
}

interface Member {
  readonly id: Buffer
  readonly key: Buffer
}

async function* scanGroup(
  kind: Kind,
  store: Store,
  group: Group,
): AsyncGenerator<ScannedRow[], void, undefined> {
  let { bounds } = group
  for (;;) {
    const members = await nextMembers(kind, store, { ...group, bounds })
    for (const { id, key } of members) {
      const value = await store.get(key)
      if (value === undefined || (kind.hasTombstones && isTombstone(value))) continue
      yield [{ idSource: id, idStart: 0, idEnd: id.length, value }]
    }
    const last = members.at(-1)
    if (last === undefined || members.length < GROUP_COUNT_MAX) return
    bounds = group.reverse
      ? { ...bounds, end: last.id, endExcluded: true }
      : { ...bounds, start: last.id, startExcluded: true }
  }
}

/** The first members of a group that are within the bounds, in order. */
async function nextMembers(kind: Kind, store: Store, group: Group): Promise<Member[]> {
  const { prefix, bounds, reverse } = group
  const sign = reverse ? -1 : 1
  const order = (a: Member, b: Member): number => sign * Buffer.compare(a.id, b.id)
  let members: Member[] = []
  const range = { start: keyAfter(prefix), end: behindGroup(prefix) }
  for await (const entries of store.scan(range, { batchBytesMax: BATCH_BYTES_MAX })) {
    for (const { key, value } of entries) {
      if (kind.hasTombstones && isTombstone(value)) continue
      const id = Buffer.from(kind.longId(value))
      if (isWithin(id, bounds)) members.push({ id, key })
    }
    if (members.length > 2 * GROUP_COUNT_MAX) {
      members = members.sort(order).slice(0, GROUP_COUNT_MAX)
    }
  }
  return members.sort(order).slice(0, GROUP_COUNT_MAX)
}

export function isWithin(
  id: Buffer,
  { start, startExcluded, end, endExcluded }: IdBounds,
): boolean {
  if (start !== undefined) {
    const compared = Buffer.compare(id, start)
    if (compared < 0 || (compared === 0 && startExcluded)) return false
  }
  if (end === undefined) return true
  const compared = Buffer.compare(id, end)
  return compared < 0 || (compared === 0 && !endExcluded)
}

/** The id of a row as text. */
export const idOfRow = ({ idSource, idStart, idEnd }: ScannedRow): string =>
  idSource.toString('utf8', idStart, idEnd)
