/**
 * Sort keys of whole JSON values: bytes whose order under plain byte comparison is CouchDB's order
 * of view keys, made from the JSON text itself without building the value. No key is the beginning
 * of another, so further bytes (a document id) can follow.
 *
 * Format `icu`: a tag for the type (null < false < true < numbers < strings < arrays < objects),
 * then for numbers `number-key.ts`, for strings ICU's sort key (ends in 00), for arrays the keys of
 * the elements and 00, for objects the sort key of each member's name and the key of its value in
 * stored order, and 00. Format `raw` is Erlang's term order: numbers < false < null < true <
 * objects < arrays < strings by bytes.
 *
 * The text must be valid JSON (white space is fine); who takes it from strangers checks it first.
 * One Collator serves a whole process: it holds scratch buffers and hands out copies.
 */
import { assert } from '../assert.ts'
import { type AsciiWeights, learnAsciiWeights } from './ascii-weights.ts'
import { type IcuCollator, openIcuCollator } from './icu.ts'
import { KeyWriter } from './key-writer.ts'
import { appendNumberText } from './number-key.ts'

export type Collation = 'icu' | 'raw'

/** Sorts after every key, alone or as the last element of an open array key. */
export const KEY_AFTER_ALL: Uint8Array = Uint8Array.of(0xff)

export const openCollator = (): Collator => new Collator(openIcuCollator())

export class Collator {
  /** Changes whenever the bytes of keys may change. */
  readonly version: string
  readonly #icu: IcuCollator
  readonly #ascii: AsciiWeights | undefined
  readonly #out = new KeyWriter()
  #icuScratch = Buffer.allocUnsafeSlow(4096)

  constructor(icu: IcuCollator) {
    this.#icu = icu
    this.#ascii = learnAsciiWeights(icu, this.#out)
    this.version = `${SORT_KEY_FORMAT}:${icu.version}`
  }

  /** The sort key of a JSON text. */
  sortKey(text: Uint8Array | string, collation: Collation = 'icu'): Buffer {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text
    this.#out.reset()
    this.append(this.#out, bytes, 0, bytes.length, collation)
    return this.#out.copy()
  }

  sortKeyOfValue(value: unknown, collation: Collation = 'icu'): Buffer {
    return this.sortKey(JSON.stringify(value) ?? 'null', collation)
  }

  /**
   * The key of an array that begins with these elements (sort keys) and has more after them than
   * any array: what a range over all arrays with that beginning ends with.
   */
  openArrayKey(elements: readonly Uint8Array[], collation: Collation = 'icu'): Buffer {
    return Buffer.concat([Uint8Array.of(TAGS[collation].array), ...elements, KEY_AFTER_ALL])
  }

  compare(left: string, right: string, collation: Collation = 'icu'): number {
    return Buffer.compare(this.sortKey(left, collation), this.sortKey(right, collation))
  }

  /** Appends the sort key of the JSON value in text[start, end) to `out`. */
  append(out: KeyWriter, text: Uint8Array, start: number, end: number, collation: Collation): void {
    const tags = TAGS[collation]
    // The kinds of the containers we are in; a loop with its own stack, since keys can nest as deep
    // as they like.
    const containers: number[] = []
    let inObject = false
    let isName = false
    let at = start
    while (at < end) {
      const code = text[at] as number
      switch (code) {
        case QUOTE: {
          const close = stringEnd(text, at + 1, end)
          if (!isName) out.byte(tags.string)
          else if (collation === 'raw') out.byte(MEMBER)
          this.#appendString(out, text, at + 1, close, collation)
          isName = false
          at = close + 1
          break
        }
        case OPEN_BRACKET:
        case OPEN_BRACE:
          containers.push(code)
          inObject = code === OPEN_BRACE
          isName = inObject
          out.byte(inObject ? tags.object : tags.array)
          at++
          break
        case CLOSE_BRACKET:
        case CLOSE_BRACE:
          out.byte(0)
          containers.pop()
          inObject = containers[containers.length - 1] === OPEN_BRACE
          isName = false
          at++
          break
        case COMMA:
          isName = inObject
          at++
          break
        case LETTER_N:
          out.byte(tags.null)
          at += 4
          break
        case LETTER_F:
          out.byte(tags.false)
          at += 5
          break
        case LETTER_T:
          out.byte(tags.true)
          at += 4
          break
        case COLON:
        case 0x20:
        case 0x09:
        case 0x0a:
        case 0x0d:
          at++
          break
        default: {
          const stop = numberEnd(text, at, end)
          assert(stop > at, 'a sort key was asked of something that is not JSON')
          out.byte(tags.number)
          appendNumberText(out, text, at, stop)
          at = stop
        }
      }
    }
    assert(containers.length === 0, 'a sort key was asked of unfinished JSON')
  }

  #appendString(
    out: KeyWriter,
    text: Uint8Array,
    start: number,
    end: number,
    collation: Collation,
  ): void {
    if (this.#ascii !== undefined && collation === 'icu' && isPlainAscii(text, start, end)) {
      this.#ascii.append(out, text, start, end)
      return
    }
    const decoded = decodeString(text, start, end)
    if (collation === 'raw') appendRawString(out, Buffer.from(decoded))
    else this.#appendIcu(out, decoded)
  }

  #appendIcu(out: KeyWriter, text: string): void {
    let length = this.#icu.sortKeyInto(text, this.#icuScratch)
    if (length > this.#icuScratch.length) {
      this.#icuScratch = Buffer.allocUnsafeSlow(length * 2)
      length = this.#icu.sortKeyInto(text, this.#icuScratch)
    }
    assert(length > 0, 'ICU gave no sort key')
    out.append(this.#icuScratch, 0, length)
  }
}

/**
 * Bytewise strings: 00 becomes 00 FF and the end is 00 00, so a prefix sorts before what it begins.
 */
function appendRawString(out: KeyWriter, bytes: Uint8Array): void {
  out.reserve(bytes.length * 2 + 2)
  for (const byte of bytes) {
    out.byte(byte)
    if (byte === 0) out.byte(0xff)
  }
  out.byte(0)
  out.byte(0)
}

/** The place of the closing quote of the string that begins at `start`. */
function stringEnd(text: Uint8Array, start: number, end: number): number {
  let at = start
  while (at < end) {
    const code = text[at]
    if (code === QUOTE) return at
    at += code === BACKSLASH ? 2 : 1
  }
  assert(false, 'a sort key was asked of an unfinished string')
}

function isPlainAscii(text: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const code = text[i] as number
    if (code >= 0x80 || code === BACKSLASH) return false
  }
  return true
}

function decodeString(text: Uint8Array, start: number, end: number): string {
  const bytes = Buffer.from(text.buffer, text.byteOffset + start - 1, end - start + 2)
  if (bytes.includes(BACKSLASH)) return JSON.parse(bytes.toString()) as string
  return bytes.toString('utf8', 1, bytes.length - 1)
}

function numberEnd(text: Uint8Array, start: number, end: number): number {
  let at = start
  for (; at < end; at++) {
    const code = text[at] as number
    const isDigit = code >= 0x30 && code <= 0x39
    // + - . E e
    if (
      !isDigit &&
      code !== 0x2b &&
      code !== 0x2d &&
      code !== 0x2e &&
      code !== 0x45 &&
      code !== 0x65
    )
      break
  }
  return at
}

/** The number of the format above. */
const SORT_KEY_FORMAT = 1

/** 00 ends containers, so no tag is 0; FF is left free for KEY_AFTER_ALL. */
const TAGS = {
  icu: { null: 2, false: 3, true: 4, number: 5, string: 6, array: 7, object: 8 },
  raw: { number: 2, false: 3, null: 4, true: 5, object: 6, array: 7, string: 8 },
} as const
/** Before each member's name in `raw`, where a name may begin with 00. */
const MEMBER = 1

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const LETTER_N = 0x6e
const LETTER_F = 0x66
const LETTER_T = 0x74
