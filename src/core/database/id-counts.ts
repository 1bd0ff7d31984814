/**
 * How many live documents come before an id, without walking them: `offset` and `skip` of listings.
 *
 * The id space is cut into stretches of about a thousand live documents. Each stretch is one small value: the id it
 * starts at, and its count. A commit adds and takes away per stretch; a stretch that grew too long is cut in two by
 * reading its own documents once. Counting before an id adds up the stretches before it and looks at the documents
 * of one.
 */
import { ByteReader, ByteWriter } from '../../base/bytes.ts'
import type { Entry, ReadTx, Steps, WriteTx } from '../../engine/engine.ts'
import { documentsBetween, ID_COUNTS, idBytesOfKey, idCountKey } from './keyspace.ts'

const STRETCH_MAX = 2048
const ROWS_MAX = 4096

/** The stretches in order; for 100 million documents about 100 thousand of them. */
export function* countStretches(tx: ReadTx): Steps<Stretch[]> {
  const stretches: Stretch[] = []
  let range = ID_COUNTS
  for (;;) {
    const rows = yield* tx.scan(range, { limit: ROWS_MAX })
    for (const row of rows) stretches.push(stretchIn(row))
    const last = rows.at(-1)
    if (rows.length < ROWS_MAX || !last) return stretches
    range = { start: after(last.key), end: range.end }
  }
}

export interface Stretch {
  /** Key bytes of the first id it may hold. */
  readonly start: Buffer
  readonly count: number
}

/**
 * Where the next live document can be, seen from a place all around which is deleted: 'here' when the stretch of
 * that place has live ones, else the start of the next stretch that has (in reverse: the end of the one before
 * it), undefined when there is none.
 */
export function* nextLiveStretch(
  tx: ReadTx,
  at: Buffer,
  reverse: boolean,
): Steps<'here' | Buffer | undefined> {
  const own = yield* stretchOf(tx, at)
  if (own.count > 0) return 'here'
  let range = reverse
    ? { start: ID_COUNTS.start, end: idCountKey(own.start) }
    : { start: after(idCountKey(at)), end: ID_COUNTS.end }
  let edge = own.start
  for (;;) {
    const rows = yield* tx.scan(range, { limit: ROWS_MAX, reverse })
    for (const row of rows) {
      const start = idBytesOfKey(row.key)
      if (readCount(row) > 0) return reverse ? edge : start
      edge = start
    }
    const last = rows.at(-1)
    if (last === undefined) return undefined
    range = reverse
      ? { start: range.start, end: last.key }
      : { start: after(last.key), end: range.end }
  }
}

/** Live documents created and deleted by one commit, by the bytes of their ids in key order. */
export class IdCountChanges {
  readonly #changes: Change[] = []

  add(id: Buffer, amount: 1 | -1): void {
    this.#changes.push({ id, amount })
  }

  /** @param liveIdsOf reads the live ids of a stretch as they will be after this commit, for cutting it */
  *apply(
    tx: WriteTx,
    liveIdsOf: (start: Buffer, end: Buffer | undefined) => Steps<Buffer[]>,
  ): Steps<void> {
    this.#changes.sort((a, b) => Buffer.compare(a.id, b.id))
    const window = new StretchWindow(this.#changes.length)
    let from = 0
    while (from < this.#changes.length) {
      const { id } = this.#changes[from] as Change
      const stretch = window.find(id) ?? (yield* window.move(tx, id))
      let to = from
      while (to < this.#changes.length && isBefore(this.#changes[to] as Change, stretch.end)) to++
      yield* applyTo(tx, stretch, this.#changes.slice(from, to), liveIdsOf)
      from = to
    }
  }
}

interface Change {
  readonly id: Buffer
  readonly amount: number
}

const isBefore = (change: Change, end: Buffer | undefined): boolean =>
  end === undefined || Buffer.compare(change.id, end) < 0

function* applyTo(
  tx: WriteTx,
  stretch: Bounds,
  changes: readonly Change[],
  liveIdsOf: (start: Buffer, end: Buffer | undefined) => Steps<Buffer[]>,
): Steps<void> {
  const count = changes.reduce((sum, change) => sum + change.amount, stretch.count)
  if (count <= STRETCH_MAX) tx.put(idCountKey(stretch.start), writeCount(count))
  else if (yield* isAppended(tx, stretch, changes)) {
    // Ids that grow, as our own do: a new stretch begins, and no document has to be looked at.
    const ids = changes.map(change => change.id)
    if (stretch.count > 0) cut(tx, ids, ids[0] as Buffer)
    else cut(tx, ids, stretch.start)
  } else cut(tx, yield* liveIdsOf(stretch.start, stretch.end), stretch.start)
}

/** True when everything is new and lies behind all that the stretch holds already. */
function* isAppended(tx: ReadTx, stretch: Bounds, changes: readonly Change[]): Steps<boolean> {
  if (changes.some(change => change.amount < 0)) return false
  const range = documentsBetween(stretch.start, stretch.end)
  const [last] = yield* tx.scan(range, { limit: 1, reverse: true, keysOnly: true })
  const first = (changes[0] as Change).id
  return last === undefined || Buffer.compare(idBytesOfKey(last.key), first) < 0
}

interface Bounds extends Stretch {
  readonly end: Buffer | undefined
}

/**
 * A run of neighbouring stretches in memory: ids come in order, and to look for each of them in the store would cost more
 * than to read the stretches between.
 */
class StretchWindow {
  readonly #countMax: number
  #rows: Stretch[] = []
  /** There is nothing behind the last of them. */
  #isLast = false
  #at = 0

  constructor(changeCount: number) {
    this.#countMax = Math.min(ROWS_MAX, changeCount === 1 ? 2 : 8 * changeCount)
  }

  /** The stretch of an id not before those asked for earlier, when it is in memory whole. */
  find(id: Buffer): Bounds | undefined {
    const rows = this.#rows
    while (this.#at + 1 < rows.length && isFrom(rows[this.#at + 1] as Stretch, id)) this.#at++
    const own = rows[this.#at]
    const next = rows[this.#at + 1]
    if (own === undefined || (next === undefined && !this.#isLast)) return undefined
    return { ...own, end: next?.start }
  }

  /** Reads those from this id on. The first stretch starts at the empty id even before it is stored. */
  *move(tx: ReadTx, id: Buffer): Steps<Bounds> {
    const upTo = { start: ID_COUNTS.start, end: after(idCountKey(id)) }
    const [own] = yield* tx.scan(upTo, { limit: 1, reverse: true })
    const beyond = { start: upTo.end, end: ID_COUNTS.end }
    const more = yield* tx.scan(beyond, { limit: this.#countMax - 1 })
    this.#rows = [own ? stretchIn(own) : NO_STRETCH, ...more.map(stretchIn)]
    this.#isLast = more.length < this.#countMax - 1
    this.#at = 0
    return { ...(this.#rows[0] as Stretch), end: this.#rows[1]?.start }
  }
}

const isFrom = ({ start }: Stretch, id: Buffer): boolean => Buffer.compare(start, id) <= 0
const stretchIn = (row: Entry): Stretch => ({ start: idBytesOfKey(row.key), count: readCount(row) })
const NO_STRETCH: Stretch = { start: Buffer.alloc(0), count: 0 }

/** The stretch an id falls into; the first one starts at the empty id even before it is stored. */
function* stretchOf(tx: ReadTx, id: Buffer): Steps<Bounds> {
  const upTo = { start: ID_COUNTS.start, end: after(idCountKey(id)) }
  const [own] = yield* tx.scan(upTo, { limit: 1, reverse: true })
  const beyond = { start: upTo.end, end: ID_COUNTS.end }
  const [next] = yield* tx.scan(beyond, { limit: 1, keysOnly: true })
  return {
    start: own ? idBytesOfKey(own.key) : Buffer.alloc(0),
    count: own ? readCount(own) : 0,
    end: next ? idBytesOfKey(next.key) : undefined,
  }
}

function cut(tx: WriteTx, ids: readonly Buffer[], start: Buffer): void {
  const pieces = Math.ceil(ids.length / (STRETCH_MAX / 2))
  const size = Math.ceil(ids.length / pieces)
  for (let piece = 0; piece < pieces; piece++) {
    const from = piece * size
    const begin = piece === 0 ? start : (ids[from] as Buffer)
    tx.put(idCountKey(begin), writeCount(Math.min(size, ids.length - from)))
  }
}

const after = (key: Buffer): Buffer => Buffer.concat([key, Buffer.of(0)])

const readCount = (row: Entry): number => new ByteReader(row.value).varint()

const writeCount = (count: number): Buffer => new ByteWriter(8).varint(count).finish()
