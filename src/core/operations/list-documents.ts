/**
 * Lists of documents by id: all of them, design documents, local ones; a range or named ids. Rows come in
 * batches that point into the stored bytes; nothing is decoded unless somebody asks for more than a row shows.
 *
 * `offset` and `skip` count stretches of ids, not documents. What is listed while others write is a row of
 * states, batch by batch: each document is shown once, as it was when its batch was read.
 */
import type { Store } from '../../engine/engine.ts'
import type { Database } from '../database/database.ts'
import {
  countLive,
  type IdBounds,
  idOfRow,
  type ScannedRow,
  scanLiveDocuments,
  scanLocalDocuments,
} from '../database/document-scan.ts'
import { countStretches, type Stretch } from '../database/id-counts.ts'
import { documentKey, ID_BYTES_MAX, localKey } from '../database/keyspace.ts'
import { decodeLocal } from '../database/local-documents.ts'
import { decodeDocument, isTombstone, placesIn } from '../database/stored-document.ts'
import { type DocumentView, type ReadOptions, viewOfWinner } from './read-document.ts'

export type Namespace = 'all' | 'design' | 'local'

export interface ListingRange {
  /** Where the list begins, in its own direction; null stands for a key below all ids. */
  readonly start?: string | null | undefined
  readonly end?: string | null | undefined
  readonly inclusiveEnd?: boolean | undefined
  readonly descending?: boolean | undefined
  readonly skip?: number | undefined
  readonly limit?: number | undefined
  /** Nobody asks how many documents come before the first: they need not be counted. */
  readonly withoutOffset?: boolean | undefined
  /** Documents of this partition only; whoever lists for a user makes bounds of it (`partition-listing.ts`). */
  readonly partition?: string | undefined
}

/** What stands in front of the rows. Null where a list has no such number. */
export interface ListingHead {
  readonly total: number | null
  readonly offset: number | null
  readonly updateSeq: number | null
  /** Of the state it began with; null for local documents, which have no sequence. */
  readonly state: string | null
}

export interface Listing extends ListingHead {
  readonly rows: AsyncIterable<readonly ListedDocument[]>
}

/** A document of a list: its id, its revision and its body as places in stored bytes. */
export interface ListedDocument {
  readonly idSource: Buffer
  readonly idStart: number
  readonly idEnd: number
  readonly value: Buffer
  readonly deleted: boolean
  readonly pos: number
  /** Of the revision's id as it is stored; for local documents it is text. */
  readonly revIdStart: number
  readonly revIdEnd: number
  /** Instead of those places. */
  readonly revText: string | undefined
  readonly bodyStart: number
  readonly hasAttachments: boolean
  readonly conflicted: boolean
  /** The document decoded, with what else is asked for. */
  view(options: ReadOptions): DocumentView
}

const DESIGN: IdBounds = {
  start: Buffer.from('_design/'),
  end: Buffer.from('_design0'),
  endExcluded: true,
}

/** Beyond so many rows to skip, stretches are counted instead. */
const SKIP_SCANNED_MAX = 1000

export async function listDocuments(
  database: Database,
  namespace: Namespace,
  range: ListingRange,
): Promise<Listing> {
  if (namespace === 'local') {
    const rows = limited(scanLocalDocuments(database.store, boundsOf(range), scanOf(range)), range)
    return { ...NO_HEAD, rows: listed(rows, listedLocal) }
  }
  const head = await database.head()
  const skip = range.skip ?? 0
  const isCounted = range.withoutOffset !== true || skip > 0
  const before = isCounted
    ? await countBefore(database.store, namespace, range, head.liveCount)
    : undefined
  const total = await totalOf(database, namespace, head.liveCount)
  return {
    total,
    offset: before === undefined ? null : Math.min(total, before + skip),
    updateSeq: head.updateSeq,
    state: database.printSequence(head.updateSeq),
    rows: listed(scanRange(database.store, namespace, range, before ?? 0), listedDocument),
  }
}

const NO_HEAD: ListingHead = { total: null, offset: null, updateSeq: null, state: null }

export interface KeyedListing extends ListingHead {
  /** One row for each id, in order; undefined where there is no document. Deleted ones are shown. */
  readonly rows: AsyncIterable<readonly (ListedDocument | undefined)[]>
}

/** @param ids undefined stands for a key that is no id */
export async function listNamedDocuments(
  database: Database,
  namespace: Namespace,
  ids: readonly (string | undefined)[],
): Promise<KeyedListing> {
  if (namespace === 'local') {
    return { ...NO_HEAD, rows: named(database.store, ids, true) }
  }
  const head = await database.head()
  const total = await totalOf(database, namespace, head.liveCount)
  const state = database.printSequence(head.updateSeq)
  const rows = named(database.store, ids, false)
  return { total, offset: null, updateSeq: null, state, rows }
}

/** How many live documents the list could show. */
async function totalOf(
  database: Database,
  namespace: Namespace,
  liveCount: number,
): Promise<number> {
  return namespace === 'all' ? liveCount : countLive(database.store, DESIGN)
}

/** The range as ids in ascending order, whatever the direction; undefined when nothing can be in it. */
function boundsOf(range: ListingRange): IdBounds {
  const { start, end, descending } = range
  const isBelowAll = descending ? start === null : end === null
  if (isBelowAll) return NOTHING
  const first = bytesOf(descending ? end : start)
  const last = bytesOf(descending ? start : end)
  const endExcluded = range.inclusiveEnd === false && typeof end === 'string'
  return descending
    ? { start: first, startExcluded: endExcluded, end: last }
    : { start: first, end: last, endExcluded }
}

const EMPTY = Buffer.alloc(0)
const NOTHING: IdBounds = { start: EMPTY, end: EMPTY, endExcluded: true }

const bytesOf = (id: string | null | undefined): Buffer | undefined =>
  typeof id === 'string' ? Buffer.from(id) : undefined

function withinNamespace(bounds: IdBounds, namespace: Namespace): IdBounds {
  if (namespace !== 'design') return bounds
  const { start, end } = bounds
  const keepsStart = start && Buffer.compare(start, DESIGN.start as Buffer) >= 0
  const keepsEnd = end && Buffer.compare(end, DESIGN.end as Buffer) < 0
  return {
    start: keepsStart ? start : DESIGN.start,
    startExcluded: keepsStart ? (bounds.startExcluded ?? false) : false,
    end: keepsEnd ? end : DESIGN.end,
    endExcluded: keepsEnd ? (bounds.endExcluded ?? false) : true,
  }
}

const scanOf = ({ descending, skip = 0, limit }: ListingRange) => ({
  reverse: descending === true,
  skip,
  ...(limit === undefined ? {} : { batchCountMax: Math.min(1000, skip + limit) }),
})

/** Live documents before the first of the list, in its direction, whatever their kind. */
async function countBefore(
  store: Store,
  namespace: Namespace,
  { start, descending }: ListingRange,
  liveCount: number,
): Promise<number> {
  const isDesign = namespace === 'design'
  if (descending) {
    if (start === null) return liveCount
    if (start === undefined && !isDesign) return 0
    const upTo =
      typeof start === 'string'
        ? { end: Buffer.from(start) }
        : { end: DESIGN.end, endExcluded: true }
    return Math.max(0, liveCount - (await rankOf(store, upTo)))
  }
  if (typeof start === 'string')
    return rankOf(store, { end: Buffer.from(start), endExcluded: true })
  return isDesign && start === undefined
    ? rankOf(store, { end: DESIGN.start, endExcluded: true })
    : 0
}

/** How many live documents lie before the end of these bounds, which have no start. */
async function rankOf(store: Store, bounds: IdBounds): Promise<number> {
  const end = bounds.end as Buffer
  const stretches = await anchoredStretches(store)
  const at = stretches.findLastIndex(({ start }) => Buffer.compare(start, end) <= 0)
  let rank = 0
  for (let index = 0; index < at; index++) rank += (stretches[index] as Stretch).count
  const own = stretches[at]
  if (own === undefined || own.count === 0) return rank
  return rank + (await countLive(store, { ...bounds, start: own.start }))
}

/** Stretches whose starts are ids; one that starts inside a group of long ids counts with the one before. */
async function anchoredStretches(store: Store): Promise<Stretch[]> {
  const stretches = await store.read(tx => countStretches(tx))
  const anchored: { start: Buffer; count: number }[] = []
  for (const stretch of stretches) {
    const last = anchored.at(-1)
    if (last !== undefined && stretch.start.length >= ID_BYTES_MAX) last.count += stretch.count
    else anchored.push({ ...stretch })
  }
  return anchored
}

async function* scanRange(
  store: Store,
  namespace: Namespace,
  range: ListingRange,
  before: number,
): AsyncGenerator<ScannedRow[], void, undefined> {
  if (range.limit === 0) return
  const skip = range.skip ?? 0
  const bounds = withinNamespace(boundsOf(range), namespace)
  const place =
    skip <= SKIP_SCANNED_MAX ? { bounds, skip } : await leap(store, bounds, { range, before, skip })
  if (place === undefined) return
  const options = scanOf({ ...range, skip: place.skip })
  yield* limited(scanLiveDocuments(store, place.bounds, options), range)
}

/** Goes to the stretch where the first row lies; what is left to skip is less than a stretch. */
async function leap(
  store: Store,
  bounds: IdBounds,
  { range, before, skip }: { range: ListingRange; before: number; skip: number },
): Promise<{ bounds: IdBounds; skip: number } | undefined> {
  const stretches = await anchoredStretches(store)
  const total = stretches.reduce((sum, { count }) => sum + count, 0)
  const rank = range.descending ? total - 1 - before - skip : before + skip
  if (rank < 0 || rank >= total) return undefined
  let first = 0
  let index = 0
  while (first + (stretches[index] as Stretch).count <= rank) {
    first += (stretches[index] as Stretch).count
    index++
  }
  const { start, count } = stretches[index] as Stretch
  const end = stretches[index + 1]?.start
  if (range.descending) {
    if (end === undefined || isBelow(bounds.end, end)) return { bounds, skip }
    return { bounds: { ...bounds, end, endExcluded: true }, skip: first + count - 1 - rank }
  }
  if (isBelow(start, bounds.start)) return { bounds, skip }
  return { bounds: { ...bounds, start, startExcluded: false }, skip: rank - first }
}

const isBelow = (a: Buffer | undefined, b: Buffer | undefined): boolean =>
  a !== undefined && b !== undefined && Buffer.compare(a, b) < 0

async function* limited(
  batches: AsyncIterable<ScannedRow[]>,
  { limit = Number.POSITIVE_INFINITY }: ListingRange,
): AsyncGenerator<ScannedRow[], void, undefined> {
  let left = limit
  if (left === 0) return
  for await (const rows of batches) {
    yield rows.length > left ? rows.slice(0, left) : rows
    left -= rows.length
    if (left <= 0) return
  }
}

async function* listed(
  batches: AsyncIterable<ScannedRow[]>,
  toListed: (row: ScannedRow) => ListedDocument,
): AsyncGenerator<ListedDocument[], void, undefined> {
  for await (const rows of batches) yield rows.map(toListed)
}

const NAMED_COUNT = 64
const NAMED_BYTES_MAX = 1024 * 1024

async function* named(
  store: Store,
  ids: readonly (string | undefined)[],
  isLocal: boolean,
): AsyncGenerator<(ListedDocument | undefined)[], void, undefined> {
  // CouchDB shows local documents to those who know their ids in any list.
  const isLocalId = (id: string): boolean => isLocal || id.startsWith('_local/')
  const keyOf = (id: string): Buffer => (isLocalId(id) ? localKey(id) : documentKey(id))
  for (let at = 0; at < ids.length; ) {
    const rows = await store.read(function* (tx) {
      const found: (ListedDocument | undefined)[] = []
      let bytes = 0
      while (at + found.length < ids.length && bytes < NAMED_BYTES_MAX) {
        const from = at + found.length
        const wanted = ids.slice(from, from + NAMED_COUNT)
        const values = yield* tx.getMany(wanted.map(id => keyOf(id ?? '')))
        for (const [index, id] of wanted.entries()) {
          const value = id === undefined ? undefined : values[index]
          bytes += value?.length ?? 0
          found.push(value && namedRow(id as string, value, isLocalId(id as string)))
        }
      }
      return found
    })
    at += rows.length
    yield rows
  }
}

function namedRow(id: string, value: Buffer, isLocal: boolean): ListedDocument {
  const idSource = Buffer.from(id)
  const row = { idSource, idStart: 0, idEnd: idSource.length, value }
  return isLocal ? listedLocal(row) : listedDocument(row)
}

/** A document of a scan as lists show it. */
export function listedDocument(row: ScannedRow): ListedDocument {
  return new StoredRow(row)
}

class StoredRow implements ListedDocument {
  readonly idSource: Buffer
  readonly idStart: number
  readonly idEnd: number
  readonly value: Buffer
  readonly deleted: boolean
  readonly pos: number
  readonly revIdStart: number
  readonly revIdEnd: number
  readonly revText = undefined
  readonly bodyStart: number
  readonly hasAttachments: boolean
  readonly conflicted: boolean

  constructor(row: ScannedRow) {
    const places = placesIn(row.value)
    this.idSource = row.idSource
    this.idStart = row.idStart
    this.idEnd = row.idEnd
    this.value = row.value
    this.deleted = isTombstone(row.value)
    this.pos = places.pos
    this.revIdStart = places.revIdStart
    this.revIdEnd = places.revIdEnd
    this.bodyStart = places.bodyStart
    this.hasAttachments = places.hasAttachments
    this.conflicted = places.conflicted
  }

  view(options: ReadOptions): DocumentView {
    return viewOfWinner(decodeDocument(this.value, idOfRow(this)), options)
  }
}

function listedLocal(row: ScannedRow): ListedDocument {
  const { generation, body, id } = decodeLocal(idOfRow(row), row.value)
  const rev = { pos: 0, id: Buffer.from(String(generation)) }
  return {
    ...row,
    deleted: false,
    pos: 0,
    revIdStart: 0,
    revIdEnd: 0,
    revText: `0-${generation}`,
    bodyStart: row.value.length - body.length,
    hasAttachments: false,
    conflicted: false,
    view: () => ({ id, rev, deleted: false, body, attachments: [] }),
  }
}
