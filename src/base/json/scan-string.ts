/**
 * The lower half of the scanner: where it stands, the text it lets through, and strings, which are
 * most of any document. A string's decoded bytes go to the term as they are read. Plain ASCII takes
 * the short loop; the first escape or longer UTF-8 sequence goes on in the careful one.
 */
import type { Failure } from '../errors.ts'
import { invalidJson } from './invalid-json.ts'
import { TAG, TermBuffer } from './term-buffer.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const HEX = '0123456789abcdef'
/** What follows the backslash -> the byte meant. */
const ESCAPES = new Uint8Array(128)
for (const [letter, byte] of [
  ['"', 0x22],
  ['\\', 0x5c],
  ['/', 0x2f],
  ['b', 8],
  ['f', 12],
  ['n', 10],
  ['r', 13],
  ['t', 9],
] as const) {
  ESCAPES[letter.charCodeAt(0)] = byte
}
/** The byte -> the letter of its short escape. */
const SHORT_ESCAPES = new Uint8Array(128)
for (const letter of '"\\bfnrt') {
  SHORT_ESCAPES[ESCAPES[letter.charCodeAt(0)] as number] = letter.charCodeAt(0)
}

/** 1: a byte of a string that stands for itself and needs no further look. */
const PLAIN = new Uint8Array(256).fill(1, 0x20, 0x80)
PLAIN[QUOTE] = 0
PLAIN[BACKSLASH] = 0
/** Longer strings are looked at in words and copied natively. */
const SHORT_BYTES_MAX = 48
/** Shorter stretches are copied faster byte by byte. */
const NATIVE_COPY_BYTES_MIN = 160

const NOTHING = Buffer.alloc(0)

export class ScanString {
  bytes: Buffer
  /** On `bytes`, once a long string needs it. */
  #view: DataView | undefined
  at = 0
  end = 0
  readonly term: TermBuffer
  /** The text so far, up to `runStart`. */
  readonly text: TermBuffer
  /**
   * Bytes from here to `at` belong to the text and are not copied yet. -1: muted, nothing is kept.
   */
  runStart = -1

  constructor(pieceBytes?: number) {
    this.bytes = NOTHING
    this.term = new TermBuffer(pieceBytes)
    this.text = new TermBuffer(pieceBytes)
  }

  /** Reads other bytes from `start` on. */
  protected turnTo(bytes: Buffer, start: number): void {
    this.bytes = bytes
    this.#view = undefined
    this.at = start
    this.end = bytes.length
  }

  invalid(): Failure {
    return invalidJson(this.at)
  }

  skipBlanks(): void {
    if ((this.bytes[this.at] as number) <= 0x20) this.#skipBlanks()
  }

  #skipBlanks(): void {
    const { bytes, text } = this
    const start = this.at
    let at = start
    let byte = bytes[at]
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++at]
    this.at = at
    const from = this.runStart
    if (from < 0) return
    const out = text.bytes
    let put = text.at
    // text with blanks is cut after every few bytes, so this is `cut` without its calls
    if (start - from < NATIVE_COPY_BYTES_MIN && put + NATIVE_COPY_BYTES_MIN < out.length) {
      for (let index = from; index < start; index++) out[put++] = bytes[index] as number
      text.at = put
    } else this.cut(start)
    this.runStart = at
  }

  /** Moves the pending bytes up to `at` into the text, and mutes. */
  cut(at: number): void {
    const { text, bytes } = this
    const start = this.runStart
    this.runStart = -1
    if (start < 0 || start >= at) return
    text.need(at - start)
    const out = text.bytes
    let put = text.at
    if (at - start > NATIVE_COPY_BYTES_MIN) {
      bytes.copy(out, put, start, at)
      put += at - start
    } else {
      for (let from = start; from < at; from++) out[put++] = bytes[from] as number
    }
    text.at = put
  }

  /** The text gets `replacement` instead of the bytes `start`..`end` just scanned. */
  replaceText(start: number, end: number, replacement: string): void {
    if (this.runStart < 0) return
    this.cut(start)
    this.text.need(replacement.length)
    this.text.at += this.text.bytes.write(replacement, this.text.at, 'latin1')
    this.runStart = end
  }

  /** At a quote: the whole string, as a binary term. */
  string(): void {
    const { bytes, term } = this
    term.need(SHORT_BYTES_MAX + 16)
    const head = term.at
    const out = term.bytes
    let put = head + 5
    let at = this.at + 1
    const limit = Math.min(this.end, at + SHORT_BYTES_MAX)
    for (; at < limit; at++) {
      const byte = bytes[at] as number
      if (PLAIN[byte] === 0) {
        if (byte !== QUOTE) break
        this.at = at + 1
        this.#finishString(head, put)
        return
      }
      out[put++] = byte
    }
    this.#longString(head, at, put)
  }

  /** The string goes on at `from`; what came before is in the term up to `put`. */
  #longString(head: number, from: number, put: number): void {
    const { bytes, term, end } = this
    let at = this.#skipPlainWords(from)
    while (at < end && PLAIN[bytes[at] as number] === 1) at++
    term.at = put
    term.need(at - from + 16)
    bytes.copy(term.bytes, put, from, at)
    const copied = put + at - from
    if (at < end && bytes[at] === QUOTE) {
      this.at = at + 1
      this.#finishString(head, copied)
    } else this.#carefulString(head, at, copied)
  }

  /** Goes on over plain bytes, four at a time. */
  #skipPlainWords(from: number): number {
    const { bytes } = this
    this.#view ??= new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const view = this.#view
    const limit = this.end - 4
    let at = from
    while (at <= limit) {
      const word = view.getInt32(at, true)
      const quotes = word ^ 0x22222222
      const slashes = word ^ 0x5c5c5c5c
      // the top bit of a byte is set in: a longer sequence, a control character, a zero where a
      // mark was
      const marks =
        word |
        (word - 0x20202020) |
        ((quotes - 0x01010101) & ~quotes) |
        ((slashes - 0x01010101) & ~slashes)
      if ((marks & 0x80808080) !== 0) break
      at += 4
    }
    return at
  }

  #finishString(head: number, put: number): void {
    const { bytes } = this.term
    const length = put - head - 5
    bytes[head] = TAG.binary
    bytes[head + 1] = length >>> 24
    bytes[head + 2] = length >>> 16
    bytes[head + 3] = length >>> 8
    bytes[head + 4] = length
    this.term.at = put
  }

  #carefulString(head: number, from: number, put: number): void {
    const { bytes, term, end } = this
    const start = this.at
    let asIs = true
    this.at = from
    term.at = put
    for (;;) {
      if (this.at >= end) throw this.invalid()
      term.need(8)
      const byte = bytes[this.at] as number
      if (byte === QUOTE) break
      if (byte < 0x20) throw this.invalid()
      if (byte === BACKSLASH) {
        if (!this.#escape()) asIs = false
      } else if (byte < 0x80) {
        term.bytes[term.at++] = byte
        this.at++
      } else {
        this.#sequence(byte)
      }
    }
    this.at++
    this.#finishString(head, term.at)
    if (!asIs && this.runStart >= 0) this.#rewrite(start, head)
  }

  /** A UTF-8 sequence of two to four bytes. */
  #sequence(first: number): void {
    const { bytes, term, at } = this
    const count = sequenceLength(bytes, at, first)
    if (count === 0) throw this.invalid()
    for (let index = 0; index < count; index++) {
      term.bytes[term.at++] = bytes[at + index] as number
    }
    this.at += count
  }

  /** At a backslash. False when the text we print has another form for this character. */
  #escape(): boolean {
    const { bytes, term } = this
    const letter = bytes[this.at + 1] as number
    if (letter !== 0x75) {
      const byte = letter < 128 ? (ESCAPES[letter] as number) : 0
      if (byte === 0 || this.at + 1 >= this.end) throw this.invalid()
      term.bytes[term.at++] = byte
      this.at += 2
      return letter !== 0x2f
    }
    let code = this.#hex4(this.at + 2)
    this.at += 6
    if (code >= 0xd800 && code <= 0xdfff) {
      if (code > 0xdbff || bytes[this.at] !== BACKSLASH || bytes[this.at + 1] !== 0x75) {
        throw this.invalid()
      }
      const low = this.#hex4(this.at + 2)
      if (low < 0xdc00 || low > 0xdfff) throw this.invalid()
      this.at += 6
      code = 0x10000 + ((code - 0xd800) << 10) + low - 0xdc00
    }
    this.#putCode(code)
    return code < 0x20 && SHORT_ESCAPES[code] === 0
  }

  #hex4(at: number): number {
    if (at + 4 > this.end) throw this.invalid()
    let code = 0
    for (let index = at; index < at + 4; index++) {
      const digit = hexDigit(this.bytes[index] as number)
      if (digit < 0) throw this.invalid()
      code = code * 16 + digit
    }
    return code
  }

  #putCode(code: number): void {
    const { bytes } = this.term
    let at = this.term.at
    if (code < 0x80) {
      bytes[at++] = code
    } else if (code < 0x800) {
      bytes[at++] = 0xc0 | (code >> 6)
      bytes[at++] = 0x80 | (code & 63)
    } else if (code < 0x10000) {
      bytes[at++] = 0xe0 | (code >> 12)
      bytes[at++] = 0x80 | ((code >> 6) & 63)
      bytes[at++] = 0x80 | (code & 63)
    } else {
      bytes[at++] = 0xf0 | (code >> 18)
      bytes[at++] = 0x80 | ((code >> 12) & 63)
      bytes[at++] = 0x80 | ((code >> 6) & 63)
      bytes[at++] = 0x80 | (code & 63)
    }
    this.term.at = at
  }

  /**
   * The string that began at `start` of the input goes to the text in the form we print, from its
   * term.
   */
  #rewrite(start: number, head: number): void {
    const { text, term } = this
    this.cut(start)
    text.need((term.at - head - 5) * 6 + 2)
    text.bytes[text.at++] = QUOTE
    for (let from = head + 5; from < term.at; from++) {
      const byte = term.bytes[from] as number
      const short = byte < 128 ? (SHORT_ESCAPES[byte] as number) : 0
      if (short !== 0) {
        text.bytes[text.at++] = BACKSLASH
        text.bytes[text.at++] = short
      } else if (byte < 0x20) {
        const sequence = `\\u00${HEX[byte >> 4]}${HEX[byte & 15]}`
        text.at += text.bytes.write(sequence, text.at, 'latin1')
      } else {
        text.bytes[text.at++] = byte
      }
    }
    text.bytes[text.at++] = QUOTE
    this.runStart = this.at
  }
}

/** How many bytes the UTF-8 sequence at `at` has; 0 when it is none. */
function sequenceLength(bytes: Buffer, at: number, first: number): number {
  const second = bytes[at + 1] as number
  if (!(second >= 0x80 && second <= 0xbf)) return 0
  if (first >= 0xc2 && first <= 0xdf) return 2
  if (!isContinuation(bytes[at + 2])) return 0
  if (first >= 0xe0 && first <= 0xef) {
    if (first === 0xe0 && second < 0xa0) return 0
    if (first === 0xed && second > 0x9f) return 0
    return 3
  }
  if (first < 0xf0 || first > 0xf4 || !isContinuation(bytes[at + 3])) return 0
  if (first === 0xf0 && second < 0x90) return 0
  if (first === 0xf4 && second > 0x8f) return 0
  return 4
}

const isContinuation = (byte: number | undefined): boolean =>
  byte !== undefined && byte >= 0x80 && byte <= 0xbf

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  if (byte >= 0x41 && byte <= 0x46) return byte - 0x37
  if (byte >= 0x61 && byte <= 0x66) return byte - 0x57
  return -1
}
