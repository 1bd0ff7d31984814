/**
 * JSON values that lose nothing: integers of any size, the difference between `1` and `1.0`, and
 * the order of members even when keys look like integers. As strict as the scanner, without
 * recursion, and slower than it.
 *
 * Use it for small things that must come back as they were (selectors, keys of views,
 * configuration), and for the rare text that has a key twice: the last value wins and takes the
 * last position. Where numbers and order do not matter, JSON.parse does. Documents on their way to
 * the store take the scanner (`scan.ts`).
 */
import { invalidJson, NUMBER_LENGTH_MAX } from './invalid-json.ts'
import { printDouble } from './print-double.ts'
import { readDouble } from './read-double.ts'
import { ScanString } from './scan-string.ts'

/**
 * A `number` is a whole number within ±(2^53 - 1), a `bigint` one beyond; doubles are JsonFloat.
 */
export type Json = null | boolean | string | number | bigint | JsonFloat | Json[] | JsonObject
export type JsonObject = Map<string, Json>

/** A number that was written with a point or an exponent. */
export class JsonFloat {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

/** The whole text; nothing but blanks may follow. Fails with `json_invalid`. */
export function parseJson(text: Buffer | string): Json {
  const bytes = typeof text === 'string' ? Buffer.from(text, 'utf8') : text
  const { value, end } = parseJsonAt(bytes, 0)
  if (end !== bytes.length) throw invalidJson(end)
  return value
}

/** The value at `start`. `end` is behind it and the blanks that follow. */
export function parseJsonAt(bytes: Buffer, start: number): { value: Json; end: number } {
  const parser = new ExactParser(bytes, start)
  return { value: parser.parse(), end: parser.at }
}

/** The text of a value, without blanks. Minus zero is `0.0`, unless `printFloat` knows better. */
export function printJson(value: Json, printFloat = printDouble): string {
  let text = ''
  const open: Printing[] = []
  let next: Json | undefined = value
  for (;;) {
    if (next !== undefined) {
      const entered = enter(next)
      if (entered !== undefined) {
        open.push(entered)
        text += entered.entries ? '{' : '['
      } else text += printScalar(next, printFloat)
    }
    const top = open.at(-1)
    if (top === undefined) return text
    const step = top.entries ? top.entries.next() : top.items.next()
    if (step.done) {
      text += top.entries ? '}' : ']'
      open.pop()
      next = undefined
      continue
    }
    if (top.begun) text += ','
    top.begun = true
    if (top.entries) {
      const [key, member] = step.value as [string, Json]
      text += `${JSON.stringify(key)}:`
      next = member
    } else next = step.value as Json
  }
}

/**
 * The plain JavaScript value: doubles and big integers become numbers, objects lose the order of
 * integer keys.
 */
export function toPlain(value: Json): unknown {
  return JSON.parse(printJson(value))
}

type Printing =
  | { begun: boolean; entries: Iterator<[string, Json]>; items?: undefined }
  | { begun: boolean; entries?: undefined; items: Iterator<Json> }

function enter(value: Json): Printing | undefined {
  if (value instanceof Map) return { begun: false, entries: value.entries() }
  if (Array.isArray(value)) return { begun: false, items: value.values() }
  return undefined
}

function printScalar(value: Json, printFloat: (value: number) => string): string {
  if (value instanceof JsonFloat) return printFloat(value.value)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number' && !Number.isSafeInteger(value)) return printDouble(value)
  return JSON.stringify(value)
}

const NUMBER = /^-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/
const WORDS: [string, Json][] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

interface Open {
  readonly value: Json[] | JsonObject
  key: string
}

class ExactParser extends ScanString {
  readonly #open: Open[] = []

  constructor(bytes: Buffer, start: number) {
    super(256)
    this.turnTo(bytes, start)
  }

  parse(): Json {
    this.skipBlanks()
    for (;;) {
      let value = this.#begin()
      for (;;) {
        if (value === undefined) break
        this.skipBlanks()
        const top = this.#open.at(-1)
        if (top === undefined) return value
        value = this.#add(top, value)
      }
    }
  }

  /**
   * A scalar or an empty list or object; undefined when one was opened that has something in it.
   */
  #begin(): Json | undefined {
    const byte = this.bytes[this.at]
    if (byte === 0x22) return this.#text()
    if (byte !== 0x7b && byte !== 0x5b) return this.#wordOrNumber()
    this.at++
    this.skipBlanks()
    const value: Json[] | JsonObject = byte === 0x7b ? new Map() : []
    if (this.bytes[this.at] === byte + 2) {
      this.at++
      return value
    }
    this.#open.push({ value, key: byte === 0x7b ? this.#key() : '' })
    return undefined
  }

  /**
   * Puts a value where it belongs. Gives the list or object if that is complete, undefined if more
   * is to come.
   */
  #add(top: Open, value: Json): Json | undefined {
    const isList = Array.isArray(top.value)
    if (Array.isArray(top.value)) top.value.push(value)
    else {
      top.value.delete(top.key)
      top.value.set(top.key, value)
    }
    const byte = this.bytes[this.at]
    if (byte === 0x2c) {
      this.at++
      this.skipBlanks()
      if (!isList) top.key = this.#key()
      return undefined
    }
    if (byte !== (isList ? 0x5d : 0x7d)) throw this.invalid()
    this.at++
    this.#open.pop()
    return top.value
  }

  #key(): string {
    if (this.bytes[this.at] !== 0x22) throw this.invalid()
    const key = this.#text()
    this.skipBlanks()
    if (this.bytes[this.at] !== 0x3a) throw this.invalid()
    this.at++
    this.skipBlanks()
    return key
  }

  #text(): string {
    this.term.at = 0
    this.string()
    return this.term.bytes.toString('utf8', 5, this.term.at)
  }

  #wordOrNumber(): Json {
    const first = this.bytes[this.at]
    for (const [word, value] of WORDS) {
      if (first !== word.charCodeAt(0)) continue
      if (this.bytes.toString('latin1', this.at, this.at + word.length) !== word)
        throw this.invalid()
      this.at += word.length
      return value
    }
    return this.#number()
  }

  #number(): Json {
    let end = this.at
    while (isNumberByte(this.bytes[end])) end++
    if (end - this.at > NUMBER_LENGTH_MAX) throw this.invalid()
    const text = this.bytes.toString('latin1', this.at, end)
    const match = NUMBER.exec(text)
    if (match === null) throw this.invalid()
    if (match[1] !== undefined || match[2] !== undefined) {
      const float = readDouble(text)
      if (!Number.isFinite(float)) throw this.invalid()
      this.at = end
      return new JsonFloat(float)
    }
    this.at = end
    const value = Number(text)
    if (!Number.isSafeInteger(value)) return BigInt(text)
    return value === 0 ? 0 : value
  }
}

const isNumberByte = (byte: number | undefined): boolean =>
  byte !== undefined &&
  ((byte >= 0x30 && byte <= 0x39) ||
    byte === 0x2d ||
    byte === 0x2b ||
    byte === 0x2e ||
    byte === 0x65 ||
    byte === 0x45)
