/**
 * Candidates of a `_find` from a JSON index: rows in order of their keys, with the documents they name, or alone where
 * the keys hold all that is asked for. The documents are read in batches that grow with the scan.
 *
 * A document that was last changed before the index came to where it is says what its row says. So where the columns of
 * the index are all that the selector looks at, the key decides, once for all rows with the same key, and no document
 * is parsed.
 */
import type { Collator } from '../../base/collate/collator.ts'
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import type { Pull } from '../../base/pull.ts'
import { documentKey, documentKeyOfIdBytes, ID_BYTES_MAX } from '../database/keyspace.ts'
import { isTombstone, seqOfRecord } from '../database/stored-document.ts'
import type { RowScan } from '../indexing/block-index.ts'
import type { RowBlock, RowSlice } from '../indexing/row-block.ts'
import { afterKey, afterPlace, idBytes, type RowOrder } from '../indexing/row-order.ts'
import type { PlaceRange, RowScanOptions } from '../indexing/scan-rows.ts'
import type { Bookmark } from '../mango/bookmark.ts'
import type { JsonValue } from '../mango/json-value.ts'
import type { KeyRange } from '../mango/key-range.ts'
import type { Matcher } from '../mango/match.ts'
import type { WantedMembers } from '../mango/selector-document.ts'
import type { FindHost } from './find-host.ts'
import {
  CoveredRow,
  type FoundRow,
  IndexedRow,
  narrowed,
  RecordRow,
  type ViewRow,
} from './found-rows.ts'
import { KeyJudge } from './key-judge.ts'

export interface KeyScan {
  readonly collator: Collator
  /** Rows of this partition only; the index is ordered by partitions then. */
  readonly partition: string | undefined
  readonly range: KeyRange
  readonly reverse: boolean
  readonly bookmark: Bookmark | undefined
  readonly firstCount: number
  readonly wanted: WantedMembers
  readonly columns: readonly (readonly string[])[]
  /** Keys hold all that is asked for: documents are not read. */
  readonly covering: boolean
  /** Given when the selector looks at nothing but columns and ids. */
  readonly matchesKey: Matcher | undefined
  /** Documents whose keys do not match are not even read. */
  readonly skipsByKey: boolean
}

/** How the rows are asked for; `firstCount` of them are probably enough. */
export const rowScanOf = (scan: KeyScan, order: RowOrder): RowScanOptions => ({
  ranges: [placesOf(scan, order)],
  reverse: scan.reverse,
  skip: 0,
  limit: Number.MAX_SAFE_INTEGER,
  batchBytesMax: scan.firstCount <= SHORT_COUNT ? SHORT_BYTES : LONG_BYTES,
})

const FIRST_COUNT_MIN = 32
const GROWN_COUNT = 100
const SHORT_COUNT = 200
const SHORT_BYTES = 8 * 1024
const LONG_BYTES = 128 * 1024

export function candidatesByKey(
  host: FindHost,
  scan: KeyScan,
  opened: RowScan,
): Pull<readonly FoundRow[]> {
  const source = new KeyRows(host, scan, opened)
  return () => source.next()
}

class KeyRows {
  readonly #host: FindHost
  readonly #scan: KeyScan
  readonly #slices: Pull<readonly RowSlice[]>
  readonly #judge: KeyJudge
  /** Documents changed later than this may be others than their rows say. */
  readonly #indexSeq: number
  #waiting: readonly RowSlice[] = []
  #at = 0
  #start = 0
  #count: number

  constructor(host: FindHost, scan: KeyScan, { next, look }: RowScan) {
    this.#host = host
    this.#scan = scan
    this.#slices = next
    this.#judge = new KeyJudge(scan.columns, scan.matchesKey, scan.wanted.id)
    this.#indexSeq = look.state?.progress.seq ?? 0
    this.#count = Math.max(FIRST_COUNT_MIN, scan.firstCount)
  }

  next(): MaybePromise<readonly FoundRow[] | undefined> {
    const slice = this.#waiting[this.#at]
    if (slice !== undefined) return this.#found(slice)
    return after(this.#slices(), slices => {
      if (slices === undefined) return undefined
      this.#waiting = slices
      this.#at = 0
      return this.next()
    })
  }

  /** The next rows of a slice. */
  #found({ block, from, to }: RowSlice): MaybePromise<readonly FoundRow[]> {
    const start = this.#start
    const end = Math.min(to - from, start + this.#count)
    this.#start = end
    if (end === to - from) {
      this.#at++
      this.#start = 0
    }
    this.#count = Math.min(GROWN_COUNT, this.#count * 2)
    const { reverse, covering, skipsByKey } = this.#scan
    const isCovered = covering && !this.#host.narrowsDocuments
    const rows: number[] = []
    for (let at = start; at < end; at++) {
      const row = reverse ? to - 1 - at : from + at
      if (isCovered || !skipsByKey || this.#judge.matches(block, row)) rows.push(row)
    }
    if (isCovered) return rows.map(row => this.#covered(block, row))
    if (this.#host.narrowsDocuments) return this.#narrowed(block, rows)
    return this.#withRecords(block, rows)
  }

  #covered(block: RowBlock, row: number): CoveredRow {
    const key = this.#judge.keyOf(block, row)
    const isProven = this.#judge.matches(block, row)
    return new CoveredRow(idOf(block, row), key, this.#scan.columns, isProven)
  }

  async #narrowed(block: RowBlock, rows: readonly number[]): Promise<readonly FoundRow[]> {
    const ids = rows.map(row => idOf(block, row))
    const views = await recordsById(this.#host, ids, this.#scan.wanted)
    return rows.map((row, at) => new IndexedRow(block, row, views[at], false))
  }

  #withRecords(block: RowBlock, rows: readonly number[]): MaybePromise<readonly FoundRow[]> {
    const keys = rows.map(row => documentKeyOfIdBytes(idBytes(block.idText(row)), 0))
    return after(
      this.#host.database.read(tx => tx.getMany(keys)),
      values => rows.map((row, at) => this.#withRecord(block, row, keys[at] as Buffer, values[at])),
    )
  }

  #withRecord(block: RowBlock, row: number, key: Buffer, value: Buffer | undefined): IndexedRow {
    if (value === undefined || isTombstone(value)) {
      return new IndexedRow(block, row, undefined, false)
    }
    const isWhole = key.length <= 1 + ID_BYTES_MAX
    const idSource = isWhole ? key : idBytes(block.idText(row))
    const idStart = isWhole ? 1 : 0
    const stored = { idSource, idStart, idEnd: idSource.length, value }
    const isProven = seqOfRecord(value) <= this.#indexSeq && this.#judge.matches(block, row)
    return new IndexedRow(block, row, new RecordRow(stored, this.#scan.wanted), isProven)
  }
}

const idOf = (block: RowBlock, row: number): string => idBytes(block.idText(row)).toString()

/** The documents as their reader may see them, in order; undefined for those that are gone or hidden. */
export async function recordsById(
  host: FindHost,
  ids: readonly string[],
  wanted: WantedMembers,
): Promise<(RecordRow | ViewRow | undefined)[]> {
  if (host.narrowsDocuments) {
    const byId = new Map((await narrowed(host, ids, wanted)).map(row => [row.id, row]))
    return ids.map(id => byId.get(id))
  }
  const values = await host.database.read(tx => tx.getMany(ids.map(documentKey)))
  return values.map((value, at) => {
    if (value === undefined || isTombstone(value)) return undefined
    const idSource = Buffer.from(ids[at] as string)
    return new RecordRow({ idSource, idStart: 0, idEnd: idSource.length, value }, wanted)
  })
}

/** Keys `k` with `low <= k <= [...high, above everything]`, on from the bookmark. */
function placesOf(scan: KeyScan, order: RowOrder): PlaceRange {
  const { range, reverse, bookmark, collator, partition } = scan
  const { bounds } = partition === undefined ? order : order.within(partition)
  const keysOf = (values: readonly JsonValue[]) =>
    values.map(value => collator.sortKeyOfValue(value))
  // The beginning of the places of a partition is its lower bound.
  const placed = (key: Buffer) => (bounds.lower ? Buffer.concat([bounds.lower, key]) : key)
  let lower = range.low.length === 0 ? bounds.lower : placed(collator.sortKeyOfValue(range.low))
  let upper =
    range.high.length === 0
      ? bounds.upper
      : afterKey(placed(collator.openArrayKey(keysOf(range.high))))
  if (bookmark !== undefined) {
    const place = order.place(Buffer.from(JSON.stringify(bookmark.key)), Buffer.from(bookmark.id))
    if (reverse) upper = upper && Buffer.compare(upper, place) < 0 ? upper : place
    else {
      const next = afterPlace(place)
      lower = lower && Buffer.compare(lower, next) > 0 ? lower : next
    }
  }
  return { lower, upper }
}
