/**
 * Candidates of a `_find` from a JSON index: rows in order of their keys, with the documents they name, or alone where
 * the keys hold all that is asked for. The documents are read in batches that grow with the scan.
 */
import type { Collator } from '../../base/collate/collator.ts'
import { documentKey } from '../database/keyspace.ts'
import { isTombstone } from '../database/stored-document.ts'
import type { BlockIndex } from '../indexing/block-index.ts'
import { afterKey, afterPlace, idBytes, type RowOrder } from '../indexing/row-order.ts'
import type { PlaceRange } from '../indexing/scan-rows.ts'
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

export interface KeyScan {
  readonly index: BlockIndex
  readonly tree: number
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
  /** Given when the keys can tell which documents match, before these are read. */
  readonly matchesKey: Matcher | undefined
}

export async function* candidatesByKey(
  host: FindHost,
  scan: KeyScan,
): AsyncGenerator<readonly FoundRow[], void, undefined> {
  const range = placesOf(scan, scan.index.order(scan.tree))
  const isShort = scan.firstCount <= SHORT_COUNT
  const opened = await scan.index.openScan(scan.tree, {
    ranges: [range],
    reverse: scan.reverse,
    skip: 0,
    limit: Number.MAX_SAFE_INTEGER,
    batchBytesMax: isShort ? SHORT_BYTES : LONG_BYTES,
  })
  let count = Math.max(FIRST_COUNT_MIN, scan.firstCount)
  for await (const slices of opened.batches) {
    for (const { block, from, to } of slices) {
      for (let start = 0, end = 0; start < to - from; start = end) {
        end = Math.min(to - from, start + count)
        const rows: IndexRow[] = []
        for (let at = start; at < end; at++) {
          const row = scan.reverse ? to - 1 - at : from + at
          rows.push({
            id: idBytes(block.idText(row)).toString(),
            keyText: block.keyText(row),
          })
        }
        yield await rowsWithDocuments(host, scan, rows)
        count = Math.min(GROWN_COUNT, count * 2)
      }
    }
  }
}

const FIRST_COUNT_MIN = 32
const GROWN_COUNT = 100
const SHORT_COUNT = 200
const SHORT_BYTES = 8 * 1024
const LONG_BYTES = 128 * 1024

interface IndexRow {
  readonly id: string
  readonly keyText: Buffer
}

async function rowsWithDocuments(
  host: FindHost,
  scan: KeyScan,
  rows: readonly IndexRow[],
): Promise<readonly FoundRow[]> {
  const { columns, matchesKey } = scan
  if (scan.covering && !host.narrowsDocuments) return rows.map(row => coveredRow(row, columns))
  const asked =
    matchesKey === undefined
      ? rows
      : rows.filter(row => matchesKey(coveredRow(row, columns).document()))
  const ids = asked.map(({ id }) => id)
  const records = await recordsById(host, ids, scan.wanted)
  return asked.map(({ id, keyText }, at) => new IndexedRow(id, keyText, records[at]))
}

const coveredRow = ({ id, keyText }: IndexRow, columns: KeyScan['columns']): CoveredRow =>
  new CoveredRow(id, JSON.parse(keyText.toString()) as JsonValue, columns)

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
