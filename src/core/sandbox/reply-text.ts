/**
 * Reads what a sandbox process answers, without parsing JSON: JSON text holds no control character,
 * so these separate the parts.
 *
 *   map:     per document, per view: *( key US value RS ) GS, or NAK message GS when it threw
 *   others:  per item: text RS, or NAK text RS for an error
 *   (US 1F, RS 1E, GS 1D, NAK 15)
 *
 * The bytes come from a process that runs strangers' code: whatever breaks the grammar is an error here.
 */
export interface MapThrow {
  readonly document: number
  readonly view: number
  readonly message: string
}

/** Called per row; key is bytes[start, keyEnd), value is bytes[keyEnd + 1, valueEnd). */
export type VisitRow = (row: {
  readonly document: number
  readonly view: number
  readonly start: number
  readonly keyEnd: number
  readonly valueEnd: number
}) => void

/** What the maps of a batch answered, and where things are in it; in documents the views are in order. */
export class MappedBatch {
  readonly bytes: Buffer
  readonly throws: readonly MapThrow[]
  /** For each document and in it for each view: how many rows there are up to here. */
  readonly rowEnds: Uint32Array
  /** Four numbers a row: where its key begins and ends in `bytes`, and where its value does. */
  readonly places: Uint32Array
  readonly #viewCount: number

  /** Throws a GrammarError if the bytes are not what the map of so many documents answers. */
  constructor(bytes: Buffer, documentCount: number, viewCount: number) {
    const rowEnds = new Uint32Array(documentCount * viewCount)
    const rows = new RowPlaces(bytes)
    const throws: MapThrow[] = []
    let slot = 0
    for (let at = 0; at < bytes.length; slot++) {
      if (bytes[at] === NAK) {
        const end = find(bytes, GS, at)
        const message = parseText(bytes, at + 1, end)
        throws.push({ document: Math.floor(slot / viewCount), view: slot % viewCount, message })
        at = end + 1
      } else at = rows.read(at)
      rowEnds[slot] = rows.count
    }
    if (slot !== rowEnds.length) throw new GrammarError('not one answer per view')
    this.bytes = bytes
    this.#viewCount = viewCount
    this.throws = throws
    this.rowEnds = rowEnds
    this.places = rows.taken()
  }

  get rowCount(): number {
    return this.places.length / PLACES_PER_ROW
  }

  /** Visits all rows, documents in order and views in order. The row object is used again. */
  forEachRow(visit: VisitRow): void {
    const { places, rowEnds } = this
    const seen = { document: 0, view: 0, start: 0, keyEnd: 0, valueEnd: 0 }
    let row = 0
    for (let slot = 0; slot < rowEnds.length; slot++) {
      seen.document = Math.floor(slot / this.#viewCount)
      seen.view = slot % this.#viewCount
      for (const end = rowEnds[slot] as number; row < end; row++) {
        const at = row * PLACES_PER_ROW
        seen.start = places[at] as number
        seen.keyEnd = places[at + 1] as number
        seen.valueEnd = places[at + 3] as number
        visit(seen)
      }
    }
  }
}

/** Finds rows one after the other. */
class RowPlaces {
  readonly #bytes: Buffer
  #places = new Uint32Array(1024)
  #length = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get count(): number {
    return this.#length / PLACES_PER_ROW
  }

  /** Reads the rows from `start` on up to the end of their group; answers where the next group begins. */
  read(start: number): number {
    const bytes = this.#bytes
    let at = start
    while (bytes[at] !== GS) {
      if (this.#length === this.#places.length) this.#grow()
      const places = this.#places
      const keyEnd = find(bytes, US, at)
      const valueEnd = find(bytes, RS, keyEnd)
      places[this.#length++] = at
      places[this.#length++] = keyEnd
      places[this.#length++] = keyEnd + 1
      places[this.#length++] = valueEnd
      at = valueEnd + 1
      if (at >= bytes.length) throw new GrammarError('rows without an end')
    }
    return at + 1
  }

  taken(): Uint32Array {
    return this.#places.subarray(0, this.#length)
  }

  #grow(): void {
    const grown = new Uint32Array(this.#places.length * 2)
    grown.set(this.#places)
    this.#places = grown
  }
}

const PLACES_PER_ROW = 4

export type ReplyItem =
  | { readonly ok: true; readonly text: Buffer }
  | { readonly ok: false; readonly text: Buffer }

/** Splits the answer of an operation with one text per item. */
export function replyItems(bytes: Buffer, count: number): readonly ReplyItem[] {
  const items: ReplyItem[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = find(bytes, RS, at)
    const ok = bytes[at] !== NAK
    items.push({ ok, text: bytes.subarray(ok ? at : at + 1, end) })
    at = end + 1
  }
  if (items.length !== count) throw new GrammarError('not one answer per item')
  return items
}

export class GrammarError extends Error {
  override readonly name = 'GrammarError'
}

const NAK = 0x15
const GS = 0x1d
const RS = 0x1e
const US = 0x1f

/** Short texts are the rule: a plain loop beats the call into native code for them. */
function find(bytes: Buffer, mark: number, from: number): number {
  const near = Math.min(from + 64, bytes.length)
  for (let at = from; at < near; at++) if (bytes[at] === mark) return at
  const found = bytes.indexOf(mark, near)
  if (found < 0) throw new GrammarError('a part without an end')
  return found
}

function parseText(bytes: Buffer, start: number, end: number): string {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8', start, end))
    if (typeof value === 'string') return value
  } catch {
    throw new GrammarError('a message that is not JSON')
  }
  throw new GrammarError('a message that is not text')
}
