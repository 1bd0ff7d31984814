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

export class MappedBatch {
  readonly bytes: Buffer
  readonly throws: readonly MapThrow[]
  readonly rowCount: number
  readonly #viewCount: number

  /** Throws a GrammarError if the bytes are not what the map of so many documents answers. */
  constructor(bytes: Buffer, documentCount: number, viewCount: number) {
    this.bytes = bytes
    this.#viewCount = viewCount
    const throws: MapThrow[] = []
    let rowCount = 0
    let slot = 0
    for (let at = 0; at < bytes.length; slot++) {
      if (bytes[at] === NAK) {
        const end = find(bytes, GS, at)
        const message = parseText(bytes, at + 1, end)
        throws.push({ document: Math.floor(slot / viewCount), view: slot % viewCount, message })
        at = end + 1
        continue
      }
      while (bytes[at] !== GS) {
        const keyEnd = find(bytes, US, at)
        at = find(bytes, RS, keyEnd) + 1
        if (at >= bytes.length) throw new GrammarError('rows without an end')
        rowCount++
      }
      at++
    }
    if (slot !== documentCount * viewCount) throw new GrammarError('not one answer per view')
    this.throws = throws
    this.rowCount = rowCount
  }

  /** Visits all rows, documents in order and views in order. The row object is used again. */
  forEachRow(visit: VisitRow): void {
    const { bytes } = this
    const row = { document: 0, view: 0, start: 0, keyEnd: 0, valueEnd: 0 }
    for (let at = 0; at < bytes.length; ) {
      if (bytes[at] === NAK) at = bytes.indexOf(GS, at)
      while (bytes[at] !== GS) {
        row.start = at
        row.keyEnd = find(bytes, US, at)
        row.valueEnd = find(bytes, RS, row.keyEnd)
        at = row.valueEnd + 1
        visit(row)
      }
      at++
      row.view++
      if (row.view < this.#viewCount) continue
      row.view = 0
      row.document++
    }
  }
}

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
