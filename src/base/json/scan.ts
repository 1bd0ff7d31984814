/**
 * One pass over JSON bytes. It checks them strictly (UTF-8, no lone surrogates, no leading zeros,
 * doubles in range, nothing but JSON), and while it goes it writes two things:
 *
 * - the text without blanks, numbers and escapes in their one form (see `print-double.ts`), else as
 *   it came; stretches that need no change are copied whole;
 * - the Erlang external term bytes, which the revision hash is made of (`term-buffer.ts`).
 *
 * It builds no objects and does not recurse, so depth is bounded by the size of the text only. An
 * object with a key twice ends the pass with `DUPLICATE_KEY`: the rare exact way is
 * `exact-json.ts`. The caller drives: it may scan single members of an object and leave out what it
 * wants (`muted`).
 */
import { NUMBER_LENGTH_MAX } from './invalid-json.ts'
import { KeyTable } from './key-table.ts'
import { printDouble } from './print-double.ts'
import { readDouble } from './read-double.ts'
import { ScanString } from './scan-string.ts'
import { TAG } from './term-buffer.ts'

/** Thrown, without a stack, when a text must be read the exact way. */
export const DUPLICATE_KEY = Object.freeze({ name: 'DUPLICATE_KEY' })

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const INTS_PER_FRAME = 3
const POWERS_OF_TEN = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent)
/** Digits that are exact in a double, and whose shortest form is themselves. */
const EXACT_DIGITS_MAX = 15

export class JsonScanner extends ScanString {
  readonly #keys = new KeyTable()
  // the innermost open list or object: its object number (0: a list), where its term starts, its
  // members so far
  #object = 0
  #listStart = 0
  #count = 0
  /** The same of those around it. */
  #frames = new Int32Array(64 * INTS_PER_FRAME)
  #depth = 0
  #objects = 0

  /** Begins at `start` of a request. */
  open(bytes: Buffer, start: number): void {
    this.turnTo(bytes, start)
    this.beginText()
  }

  /** Forgets the output, goes on at the same place. */
  beginText(): void {
    this.term.reset()
    this.text.reset()
    this.#keys.reset()
    this.#depth = 0
    this.#objects = 0
    this.runStart = -1
  }

  /** The next byte that is no blank, not consumed; -1 at the end. */
  peek(): number {
    this.skipBlanks()
    return this.at < this.end ? (this.bytes[this.at] as number) : -1
  }

  expect(byte: number): void {
    if (this.bytes[this.at] !== byte) throw this.invalid()
    this.at++
    this.skipBlanks()
  }

  /** Nothing but blanks may follow. */
  expectEnd(): void {
    if (this.at < this.end && this.peek() !== -1) throw this.invalid()
  }

  /** A number for `addKey`: each object has its own. */
  nextObject(): number {
    return ++this.#objects
  }

  /** The key whose decoded bytes lie in `term.bytes`; throws DUPLICATE_KEY. */
  addKey(object: number, start: number, end: number): void {
    if (!this.#keys.add(object, this.term.bytes, start, end)) throw DUPLICATE_KEY
  }

  /** A whole value with everything in it. */
  value(): void {
    const { bytes } = this
    const base = this.#depth
    for (;;) {
      const byte = bytes[this.at] as number
      if (byte === QUOTE) this.string()
      else if (byte === 0x7b) {
        if (this.#beginObject()) continue
      } else if (byte === 0x5b) {
        if (this.#beginList()) continue
      } else this.#scalar(byte)
      if (this.#depth === base || !this.#nextValue(base)) return
    }
  }

  /**
   * After a value: true when another follows in the same list or object, false when level `base` is
   * reached.
   */
  #nextValue(base: number): boolean {
    const { bytes } = this
    for (;;) {
      if ((bytes[this.at] as number) <= 0x20) this.skipBlanks()
      const byte = bytes[this.at]
      const object = this.#object
      if (byte === COMMA) {
        this.at++
        this.#count++
        if ((bytes[this.at] as number) <= 0x20) this.skipBlanks()
        if (object !== 0) this.#key(object)
        return true
      }
      if (byte !== (object === 0 ? 0x5d : 0x7d)) throw this.invalid()
      this.at++
      this.closeList(this.#listStart, this.#count, object === 0)
      this.#popFrame()
      if (this.#depth === base) return false
    }
  }

  #beginObject(): boolean {
    const { term } = this
    term.need(16)
    term.bytes[term.at++] = TAG.tuple
    term.bytes[term.at++] = 1
    this.at++
    this.skipBlanks()
    if (this.bytes[this.at] === 0x7d) {
      this.at++
      term.bytes[term.at++] = TAG.nil
      return false
    }
    const object = this.nextObject()
    this.#pushFrame(object)
    this.#key(object)
    return true
  }

  #beginList(): boolean {
    const { term } = this
    term.need(16)
    this.at++
    this.skipBlanks()
    if (this.bytes[this.at] === 0x5d) {
      this.at++
      term.bytes[term.at++] = TAG.nil
      return false
    }
    this.#pushFrame(0)
    return true
  }

  /** Opens a list in the term, inside of what was open. */
  #pushFrame(object: number): void {
    const frame = this.#depth++ * INTS_PER_FRAME
    if (frame === this.#frames.length) {
      const grown = new Int32Array(this.#frames.length * 2)
      grown.set(this.#frames)
      this.#frames = grown
    }
    const frames = this.#frames
    frames[frame] = this.#object
    frames[frame + 1] = this.#listStart
    frames[frame + 2] = this.#count
    const { term } = this
    this.#object = object
    this.#listStart = term.at
    this.#count = 1
    term.bytes[term.at] = TAG.list
    term.at += 5
  }

  #popFrame(): void {
    const frame = --this.#depth * INTS_PER_FRAME
    const frames = this.#frames
    this.#object = frames[frame] as number
    this.#listStart = frames[frame + 1] as number
    this.#count = frames[frame + 2] as number
  }

  /**
   * Puts the count into a list that began at `start`, or makes the list a string if it is all
   * bytes.
   */
  closeList(start: number, count: number, mayBeString: boolean): void {
    const { term } = this
    term.need(1)
    const { bytes } = term
    if (mayBeString && term.at - start - 5 === count * 2 && count < 65536) {
      if (allBytes(bytes, start + 5, term.at)) {
        bytes[start] = TAG.string
        bytes[start + 1] = count >>> 8
        bytes[start + 2] = count
        for (let index = 0; index < count; index++) {
          bytes[start + 3 + index] = bytes[start + 6 + index * 2] as number
        }
        term.at = start + 3 + count
        return
      }
    }
    bytes[start + 1] = count >>> 24
    bytes[start + 2] = count >>> 16
    bytes[start + 3] = count >>> 8
    bytes[start + 4] = count
    bytes[term.at++] = TAG.nil
  }

  /** A key and its colon; the term gets the head of the pair. */
  #key(object: number): void {
    const start = this.pairHead() + 5
    this.addKey(object, start, this.term.at)
  }

  /** The same without the check. Gives where the key's term starts; its bytes are 5 further. */
  pairHead(): number {
    const { term, bytes } = this
    term.need(16)
    const start = term.at + 2
    term.bytes[start - 2] = TAG.tuple
    term.bytes[start - 1] = 2
    term.at = start
    if (bytes[this.at] !== QUOTE) throw this.invalid()
    this.string()
    if (bytes[this.at] !== COLON) {
      this.skipBlanks()
      if (bytes[this.at] !== COLON) throw this.invalid()
    }
    this.at++
    if ((bytes[this.at] as number) <= 0x20) this.skipBlanks()
    return start
  }

  #scalar(byte: number): void {
    if (byte === 0x74) {
      this.#word('true')
      this.term.putBoolean(true)
    } else if (byte === 0x66) {
      this.#word('false')
      this.term.putBoolean(false)
    } else if (byte === 0x6e) {
      this.#word('null')
      this.term.putNull()
    } else this.#number(byte)
  }

  #word(word: string): void {
    for (let index = 0; index < word.length; index++) {
      if (this.bytes[this.at + index] !== word.charCodeAt(index)) throw this.invalid()
    }
    this.at += word.length
  }

  #number(first: number): void {
    const { bytes } = this
    const start = this.at
    const negative = first === 0x2d
    let at = negative ? start + 1 : start
    const digits = at
    let value = 0
    let byte = bytes[at] as number
    while (byte >= 0x30 && byte <= 0x39) {
      value = value * 10 + byte - 0x30
      byte = bytes[++at] as number
    }
    if (at === digits || (bytes[digits] === 0x30 && at > digits + 1)) throw this.invalid()
    this.at = at
    if (byte === 0x2e) this.#fraction(start, digits, value, negative)
    else if (byte === 0x65 || byte === 0x45) this.#exponent(start)
    else if (at - digits > EXACT_DIGITS_MAX) {
      this.term.putBigInteger(BigInt(this.#numberText(start)))
    } else {
      if (value === 0 && negative) this.replaceText(start, at, '0')
      this.term.putInteger(negative && value !== 0 ? -value : value)
    }
  }

  /** Few digits after the point need no text: dividing by a power of ten is exact there. */
  #fraction(start: number, digits: number, whole: number, negative: boolean): void {
    const { bytes } = this
    const point = this.at
    let at = point + 1
    let value = whole
    let byte = bytes[at] as number
    while (byte >= 0x30 && byte <= 0x39) {
      value = value * 10 + byte - 0x30
      byte = bytes[++at] as number
    }
    const places = at - point - 1
    if (places === 0) throw this.invalid()
    this.at = at
    value /= POWERS_OF_TEN[places] ?? Number.NaN
    const exact = at - digits - 1 <= EXACT_DIGITS_MAX
    const shortest = places === 1 || bytes[at - 1] !== 0x30
    if (byte === 0x65 || byte === 0x45) this.#exponent(start)
    else if (exact && shortest && value >= 1e-6) this.term.putDouble(negative ? -value : value)
    else this.#double(start)
  }

  #exponent(start: number): void {
    const { bytes } = this
    let at = this.at + 1
    if (bytes[at] === 0x2b || bytes[at] === 0x2d) at++
    const digits = at
    while ((bytes[at] as number) >= 0x30 && (bytes[at] as number) <= 0x39) at++
    if (at === digits) throw this.invalid()
    this.at = at
    this.#double(start)
  }

  #numberText(start: number): string {
    if (this.at - start > NUMBER_LENGTH_MAX) throw this.invalid()
    return this.bytes.toString('latin1', start, this.at)
  }

  /** Any double, from its text. */
  #double(start: number): void {
    const text = this.#numberText(start)
    const value = readDouble(text)
    if (!Number.isFinite(value)) throw this.invalid()
    const printed = printDouble(value)
    if (printed !== text) this.replaceText(start, this.at, printed)
    this.term.putDouble(value)
  }
}

function allBytes(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 2) if (bytes[at] !== TAG.byte) return false
  return true
}
