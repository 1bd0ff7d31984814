/**
 * Cuts JSON that passes through into pieces without parsing it: documents travel from peer to peer as the bytes they
 * are.
 *
 * It follows strings and brackets only. What is between them is the receiver's to check, and the receiver checks
 * everything; but a text that ends too early, or is no object or list where one must be, fails here.
 */
import { Failure } from '../../base/errors.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

export interface Span {
  readonly start: number
  readonly end: number
}

/** Where the members of the object at `start` are; `key` is the text between its quotes, as it is written. */
export function* membersOf(bytes: Buffer, start: number): Generator<Span & { key: string }> {
  let at = expectByte(bytes, start, OPEN_BRACE)
  if (bytes[at] === CLOSE_BRACE) return
  for (;;) {
    const keyEnd = endOfString(bytes, at)
    const key = bytes.toString('utf8', at + 1, keyEnd - 1)
    const valueStart = expectByte(bytes, skipBlanks(bytes, keyEnd), 0x3a)
    const end = endOfValue(bytes, valueStart)
    yield { key, start: valueStart, end }
    at = skipBlanks(bytes, end)
    if (bytes[at] === CLOSE_BRACE) return
    at = expectByte(bytes, at, COMMA)
  }
}

/** Where the elements of the list at `start` are. */
export function* elementsOf(bytes: Buffer, start: number): Generator<Span> {
  let at = expectByte(bytes, start, OPEN_BRACKET)
  if (bytes[at] === CLOSE_BRACKET) return
  for (;;) {
    const end = endOfValue(bytes, at)
    yield { start: at, end }
    at = skipBlanks(bytes, end)
    if (bytes[at] === CLOSE_BRACKET) return
    at = expectByte(bytes, at, COMMA)
  }
}

/** The value of a string whose span is known. */
export function stringAt(bytes: Buffer, { start, end }: Span): string {
  if (bytes[start] !== QUOTE) throw malformed()
  const text = bytes.toString('utf8', start + 1, end - 1)
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}

export function endOfValue(bytes: Buffer, start: number): number {
  const first = bytes[start]
  if (first === QUOTE) return endOfString(bytes, start)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfNested(bytes, start)
  let at = start
  while (at < bytes.length && isScalarByte(bytes[at] as number)) at++
  if (at === start) throw malformed()
  return at
}

function endOfNested(bytes: Buffer, start: number): number {
  let depth = 0
  let at = start
  while (at < bytes.length) {
    const byte = bytes[at] as number
    if (byte === QUOTE) {
      at = endOfString(bytes, at)
      continue
    }
    at++
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) return at
  }
  throw malformed()
}

export function endOfString(bytes: Buffer, start: number): number {
  if (bytes[start] !== QUOTE) throw malformed()
  for (let at = start + 1; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === QUOTE) return at + 1
    if (byte === BACKSLASH) at++
  }
  throw malformed()
}

function expectByte(bytes: Buffer, at: number, wanted: number): number {
  if (bytes[at] !== wanted) throw malformed()
  return skipBlanks(bytes, at + 1)
}

export function skipBlanks(bytes: Buffer, start: number): number {
  let at = start
  while (at < bytes.length && (bytes[at] as number) <= 0x20) at++
  return at
}

const isScalarByte = (byte: number): boolean =>
  byte > 0x20 && byte !== COMMA && byte !== CLOSE_BRACE && byte !== CLOSE_BRACKET

export const malformed = (): Failure =>
  new Failure('replication_failed', { reason: 'the other server sent malformed JSON', retry: true })

/**
 * Takes an answer `{"results":[item, item …], …}` in chunks and gives each item, an object, as soon as it is
 * complete. What surrounds the items is kept and parsed at the end, so an answer that was cut off is noticed.
 */
export class ItemCutter {
  readonly #itemBytesMax: number
  #depth = 0
  #inString = false
  #escaped = false
  #inItems = false
  /** Pieces of an item that began in an earlier chunk. */
  #pieces: Buffer[] = []
  #piecesBytes = 0
  #inItem = false
  #outside = ''

  constructor(itemBytesMax: number) {
    this.#itemBytesMax = itemBytesMax
  }

  push(chunk: Buffer): Buffer[] {
    const items: Buffer[] = []
    let itemStart = this.#inItem ? 0 : -1
    let outsideStart = this.#inItems ? -1 : 0
    let at = this.#inString ? this.#skipString(chunk, 0) : 0
    while (at < chunk.length) {
      const byte = chunk[at++] as number
      if (byte === QUOTE) at = this.#skipString(chunk, at)
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        this.#depth++
        if (this.#inItems && this.#depth === 3) {
          itemStart = at - 1
          this.#inItem = true
        } else if (byte === OPEN_BRACKET && this.#depth === 2) {
          const before = this.#outside + chunk.toString('latin1', Math.max(outsideStart, 0), at - 1)
          if (/"results"\s*:\s*$/.test(before)) {
            this.#outside = `${before}[`
            outsideStart = -1
            this.#inItems = true
          }
        }
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        this.#depth--
        if (this.#inItem && this.#depth === 2) {
          items.push(this.#complete(chunk.subarray(itemStart, at)))
          itemStart = -1
          this.#inItem = false
        } else if (this.#inItems && this.#depth === 1) {
          this.#inItems = false
          outsideStart = at - 1
        }
      }
    }
    if (itemStart >= 0) this.#keep(chunk.subarray(itemStart))
    if (outsideStart >= 0) this.#addOutside(chunk.toString('latin1', outsideStart))
    return items
  }

  /** Behind the string that is open at `start`, or at the end of a chunk in which it does not end. */
  #skipString(chunk: Buffer, start: number): number {
    let at = this.#escaped ? start + 1 : start
    this.#escaped = false
    this.#inString = false
    for (; at < chunk.length; at++) {
      const byte = chunk[at] as number
      if (byte === QUOTE) return at + 1
      if (byte === BACKSLASH && ++at === chunk.length) this.#escaped = true
    }
    this.#inString = true
    return chunk.length
  }

  /** What surrounded the items. Fails when the answer was not complete. */
  end(): Record<string, unknown> {
    try {
      const text = Buffer.from(this.#outside, 'latin1').toString('utf8')
      const value = JSON.parse(text) as Record<string, unknown> | null
      if (value !== null && Array.isArray(value.results)) return value
    } catch {
      // told below: whatever it was, it was not the answer
    }
    throw malformed()
  }

  #complete(last: Buffer): Buffer {
    if (this.#pieces.length === 0) return last
    const item = Buffer.concat([...this.#pieces, last])
    this.#pieces = []
    this.#piecesBytes = 0
    return item
  }

  #keep(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#piecesBytes += piece.length
    if (this.#piecesBytes > this.#itemBytesMax) throw tooLarge()
  }

  #addOutside(text: string): void {
    this.#outside += text
    if (this.#outside.length > OUTSIDE_BYTES_MAX) throw malformed()
  }
}

const OUTSIDE_BYTES_MAX = 1024 * 1024

const tooLarge = (): Failure =>
  new Failure('replication_failed', { reason: 'the other server sent too large a document' })
