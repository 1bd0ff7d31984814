/**
 * ICU sort keys of ASCII text in plain JavaScript, byte for byte what ICU gives, from a table read
 * out of ICU once. Most keys are ASCII, and this is several times cheaper than a foreign call.
 *
 * A key is three levels with 01 between and 00 behind. Level one has the primary weights (one or
 * two bytes a character, none for control characters); level two is all "common" for ASCII, written
 * as run lengths; level three has runs of common weights and a weight for each capital.
 * `learnAsciiWeights` tries its result against ICU and answers undefined when a future ICU writes
 * keys another way, so the worst case is slow, never wrong.
 */
import type { IcuCollator } from './icu.ts'
import type { KeyWriter } from './key-writer.ts'

export class AsciiWeights {
  /** Per character: 0 = ignored, else the first primary byte, and the second one or 0. */
  readonly #first = new Uint8Array(128)
  readonly #second = new Uint8Array(128)
  /** Per character: 0 or the tertiary weight that differs from the common one. */
  readonly #third = new Uint8Array(128)

  constructor(keyOf: (text: string) => Buffer) {
    for (let code = 0; code < 128; code++) {
      const key = keyOf(String.fromCharCode(code))
      const levelEnd = key.indexOf(LEVEL_SEPARATOR)
      if (levelEnd <= 0) continue
      this.#first[code] = key[0] as number
      this.#second[code] = levelEnd > 1 ? (key[1] as number) : 0
      const third = key[key.length - 2] as number
      this.#third[code] = third === COMMON_LOW ? 0 : third
    }
  }

  /** Appends the key of text[start, end), which must be ASCII without escapes. */
  append(out: KeyWriter, text: Uint8Array, start: number, end: number): void {
    out.reserve((end - start) * 4 + 16)
    const bytes = out.bytes
    let at = out.length
    let weighed = 0
    let capitals = 0
    for (let i = start; i < end; i++) {
      const code = text[i] as number
      const first = this.#first[code] as number
      if (first === 0) continue
      weighed++
      bytes[at++] = first
      const second = this.#second[code] as number
      if (second !== 0) bytes[at++] = second
      if (this.#third[code] !== 0) capitals++
    }
    bytes[at++] = LEVEL_SEPARATOR
    at = appendRun(bytes, at, weighed, SECONDARY_RUN_MAX, SECONDARY_MIDDLE)
    bytes[at++] = LEVEL_SEPARATOR
    if (capitals === 0) at = appendRun(bytes, at, weighed, TERTIARY_RUN_MAX, TERTIARY_MIDDLE)
    else at = this.#appendTertiaries(bytes, at, text, start, end)
    bytes[at++] = 0
    out.length = at
  }

  #appendTertiaries(
    bytes: Buffer,
    from: number,
    text: Uint8Array,
    start: number,
    end: number,
  ): number {
    let at = from
    let common = 0
    for (let i = start; i < end; i++) {
      const code = text[i] as number
      if (this.#first[code] === 0) continue
      const third = this.#third[code] as number
      if (third === 0) {
        common++
        continue
      }
      at = appendRunBefore(bytes, at, common)
      common = 0
      bytes[at++] = third
    }
    return appendRun(bytes, at, common, TERTIARY_RUN_MAX, TERTIARY_MIDDLE)
  }
}

/** The table, or undefined when it would not give ICU's bytes. */
export function learnAsciiWeights(icu: IcuCollator, out: KeyWriter): AsciiWeights | undefined {
  const scratch = Buffer.alloc(4096)
  const keyOf = (text: string) => Buffer.from(scratch.subarray(0, icu.sortKeyInto(text, scratch)))
  const weights = new AsciiWeights(keyOf)
  for (const sample of samples()) {
    out.reset()
    const text = Buffer.from(sample, 'latin1')
    weights.append(out, text, 0, text.length)
    if (!out.bytes.subarray(0, out.length).equals(keyOf(sample))) return undefined
  }
  out.reset()
  return weights
}

/**
 * Each neighbourhood of kinds of character, and runs around the lengths where their encoding
 * changes.
 */
function samples(): string[] {
  const kinds = [
    'a',
    'Z',
    'm',
    '0',
    '9',
    ' ',
    '\n',
    '_',
    '-',
    '~',
    '$',
    '\u0001',
    '"',
    '+',
    '.',
    '@',
  ]
  const all = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
  const found = ['', all.join(''), all.reverse().join('')]
  for (const one of all) found.push(one, one + one)
  for (const one of kinds) for (const two of kinds) found.push(one + two, `a${one}${two}B`)
  for (const count of [32, 33, 34, 66, 67, 96, 97, 98, 99, 194, 195, 300]) {
    found.push(
      'x'.repeat(count),
      `${'x'.repeat(count)}X`,
      `X${'x'.repeat(count)}`,
      'X'.repeat(count),
    )
  }
  return found
}

const LEVEL_SEPARATOR = 1
/**
 * Runs of common weights: up from LOW at the end of a level or before a lower weight, down from
 * HIGH before a higher one.
 */
const COMMON_LOW = 0x05
const SECONDARY_RUN_MAX = 0x21
const SECONDARY_MIDDLE = 0x25
const TERTIARY_RUN_MAX = 0x61
const TERTIARY_MIDDLE = 0x65
const TERTIARY_HIGH = 0xc5

function appendRun(
  bytes: Buffer,
  from: number,
  count: number,
  runMax: number,
  middle: number,
): number {
  if (count === 0) return from
  let at = from
  let left = count - 1
  for (; left >= runMax; left -= runMax) bytes[at++] = middle
  bytes[at++] = COMMON_LOW + left
  return at
}

function appendRunBefore(bytes: Buffer, from: number, count: number): number {
  if (count === 0) return from
  let at = from
  let left = count - 1
  for (; left >= TERTIARY_RUN_MAX; left -= TERTIARY_RUN_MAX) bytes[at++] = TERTIARY_MIDDLE
  bytes[at++] = TERTIARY_HIGH - left
  return at
}
