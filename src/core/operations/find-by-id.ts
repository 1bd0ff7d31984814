/**
 * Candidates of a `_find` in order of their ids. Batches grow with the scan, so that a first page reads little and a
 * long scan reads in bulk. Design documents are never candidates. A user who sees parts of documents only gets those
 * parts here already, so that no selector can ask for what he may not read.
 */
import { type Pull, pullFrom } from '../../base/pull.ts'
import {
  type IdBounds,
  idOfRow,
  type ScannedRow,
  scanLiveDocuments,
} from '../database/document-scan.ts'
import type { Bookmark } from '../mango/bookmark.ts'
import type { ByteFilter } from '../mango/byte-filter.ts'
import type { IdRange } from '../mango/key-range.ts'
import type { WantedMembers } from '../mango/selector-document.ts'
import type { FindHost } from './find-host.ts'
import { type FoundRow, narrowed, RecordRow } from './found-rows.ts'

export interface IdScan {
  readonly range: IdRange
  readonly reverse: boolean
  readonly bookmark: Bookmark | undefined
  /** Only ids of this partition. */
  readonly partition: string | undefined
  /** How many rows are wanted at the least. */
  readonly firstCount: number
  readonly wanted: WantedMembers
  /** Passes over documents that surely do not match. */
  readonly mayMatch: ByteFilter | undefined
}

export const candidatesById = (host: FindHost, scan: IdScan): Pull<readonly FoundRow[]> =>
  pullFrom(rowsById(host, scan))

async function* rowsById(
  host: FindHost,
  scan: IdScan,
): AsyncGenerator<readonly FoundRow[], void, undefined> {
  const bounds = boundsOf(scan)
  if (bounds === undefined) return
  const { store } = host.database
  for await (const rows of growingScan(bounds, scan, (some, batchCountMax) =>
    scanLiveDocuments(store, some, { reverse: scan.reverse, batchCountMax }),
  )) {
    const own = rows.filter(row => !isDesignRow(row))
    if (own.length === 0) continue
    if (host.narrowsDocuments) yield await narrowed(host, own.map(idOfRow), scan.wanted)
    else yield own.map(row => new RecordRow(row, scan.wanted, scan.mayMatch))
  }
}

/** The first batch as small as is wanted, later ones as large as they come. */
async function* growingScan(
  bounds: IdBounds,
  { firstCount, reverse }: IdScan,
  open: (bounds: IdBounds, batchCountMax: number) => AsyncIterable<ScannedRow[]>,
): AsyncGenerator<ScannedRow[], void, undefined> {
  let rest = bounds
  for (let count = Math.max(FIRST_COUNT_MIN, firstCount); ; count *= 4) {
    let last: ScannedRow | undefined
    let given = 0
    let isCut = false
    for await (const rows of open(rest, count)) {
      yield rows
      last = rows.at(-1)
      given += rows.length
      isCut = count < GROWN_COUNT && given >= count
      if (isCut) break
    }
    if (last === undefined || !isCut) return
    const id = Buffer.from(last.idSource.subarray(last.idStart, last.idEnd))
    rest = reverse
      ? { ...rest, end: id, endExcluded: true }
      : { ...rest, start: id, startExcluded: true }
  }
}

const FIRST_COUNT_MIN = 32
const GROWN_COUNT = 1000

function boundsOf({ range, reverse, bookmark, partition }: IdScan): IdBounds | undefined {
  let bounds: IdBounds = { start: bytesOf(range.low), end: bytesOf(range.high) }
  if (partition !== undefined) {
    bounds = narrower(bounds, {
      start: Buffer.from(`${partition}:`),
      end: Buffer.from(`${partition};`),
      endExcluded: true,
    })
  }
  if (bookmark !== undefined) {
    const id = Buffer.from(bookmark.id)
    bounds = narrower(
      bounds,
      reverse ? { end: id, endExcluded: true } : { start: id, startExcluded: true },
    )
  }
  const { start, end } = bounds
  return start && end && Buffer.compare(start, end) > 0 ? undefined : bounds
}

const bytesOf = (id: string | undefined): Buffer | undefined =>
  id === undefined ? undefined : Buffer.from(id)

/** Both bounds together. */
function narrower(one: IdBounds, two: IdBounds): IdBounds {
  const isLater = !one.start || (two.start && Buffer.compare(two.start, one.start) >= 0)
  const isEarlier = !one.end || (two.end && Buffer.compare(two.end, one.end) <= 0)
  const low = two.start && isLater ? two : one
  const high = two.end && isEarlier ? two : one
  return {
    start: low.start,
    startExcluded: low.startExcluded ?? false,
    end: high.end,
    endExcluded: high.endExcluded ?? false,
  }
}

const DESIGN = Buffer.from('_design/')
const UNDERSCORE = 0x5f

const isDesignRow = ({ idSource, idStart, idEnd }: ScannedRow): boolean =>
  idSource[idStart] === UNDERSCORE &&
  idSource.subarray(idStart, Math.min(idEnd, idStart + DESIGN.length)).equals(DESIGN)
