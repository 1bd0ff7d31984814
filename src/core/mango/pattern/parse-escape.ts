/**
 * What follows a backslash, outside of classes (`parseEscape`) and inside of them (`classEscape`).
 */
import { charSource, makeCharSet, propertySource, SHORTHANDS } from './char-set.ts'
import type { Flags, PatternReader } from './pattern-reader.ts'
import type { Assertion, PatternNode } from './pattern-tree.ts'

const ASSERTIONS: Readonly<Record<string, Assertion>> = {
  A: 'start',
  G: 'start',
  Z: 'end_or_newline',
  z: 'end',
  b: 'word',
  B: 'not_word',
}
const CONTROLS: Readonly<Record<string, number>> = { a: 7, e: 27, f: 12, n: 10, r: 13, t: 9 }
const NEWLINE = makeCharSet(SHORTHANDS.v as string, false)

export function parseEscape(parser: PatternReader, flags: Flags): PatternNode {
  const letter = parser.source[parser.at]
  if (letter === undefined) parser.fail('\\ at end of pattern')
  const assertion = ASSERTIONS[letter]
  if (assertion) {
    parser.at++
    return { kind: 'assert', what: assertion }
  }
  if (parser.take('R')) return newlineSequence()
  const reference = backreference(parser, flags)
  if (reference) return reference
  const meant = characterEscape(parser)
  if (typeof meant === 'number') return parser.literal(meant, flags)
  return { kind: 'set', set: makeCharSet(meant, flags.ignoreCase) }
}

/** A class or a code point. In a class `\b` is backspace and numbers are octal. */
export function classEscape(parser: PatternReader): string | number {
  if (parser.take('b')) return 8
  if (/[RBXNAzZG]/.test(parser.source[parser.at] ?? ''))
    parser.fail('escape not allowed in a class')
  const octal = parser.takeMatch(/[0-7]{1,3}/y)
  return octal ? Number.parseInt(octal[0], 8) : characterEscape(parser)
}

function newlineSequence(): PatternNode {
  const branches: PatternNode[] = [
    { kind: 'text', text: '\r\n' },
    { kind: 'set', set: NEWLINE },
  ]
  return { kind: 'atomic', body: { kind: 'choice', branches } }
}

function backreference(parser: PatternReader, flags: Flags): PatternNode | undefined {
  const called = parser.takeMatch(/g(?:<([+-]?)(\w+)>|'([+-]?)(\w+)')/y)
  if (called)
    return {
      kind: 'call',
      group: groupOf(parser, called[1] ?? called[3], called[2] ?? (called[4] as string)),
    }
  const found = parser.takeMatch(/(?:g\{?(-?)(\w+)\}?|k(?:<(\w+)>|'(\w+)'|\{(\w+)\}))/y)
  const ignoreCase = flags.ignoreCase
  if (found) {
    const text = found[2] ?? found[3] ?? found[4] ?? (found[5] as string)
    return { kind: 'same_as', group: groupOf(parser, found[1], text), ignoreCase }
  }
  const start = parser.at
  const digits = parser.takeMatch(/[1-9]\d{0,2}/y)
  if (!digits) return undefined
  const number = Number(digits[0])
  if (number < 10 || number <= parser.groupCount)
    return { kind: 'same_as', group: number, ignoreCase }
  // More digits than groups: an octal character code, as far as the digits are octal.
  parser.at = start
  const octal =
    parser.takeMatch(/[0-7]{1,3}/y) ?? parser.fail('reference to a group that is not there')
  return parser.literal(Number.parseInt(octal[0], 8), flags)
}

function groupOf(parser: PatternReader, sign: string | undefined, text: string): number | string {
  if (!/^\d+$/.test(text)) return text
  if (sign === '-') return parser.groupCount - Number(text) + 1
  return sign === '+' ? parser.groupCount + Number(text) : Number(text)
}

function characterEscape(parser: PatternReader): string | number {
  const property = parser.takeMatch(/([pP])(?:\{(\^?)([\w&]+)\}|([A-Z]))/y)
  if (property) {
    const negated = (property[1] === 'P') !== (property[2] === '^')
    const source = propertySource(property[3] ?? (property[4] as string), negated)
    return source ?? parser.fail('unknown property name')
  }
  const hex = parser.takeMatch(/x(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{0,2}))/y)
  if (hex) return codePoint(parser, Number.parseInt(hex[1] ?? `0${hex[2]}`, 16))
  const octal = parser.takeMatch(/(?:o\{([0-7]{1,7})\}|(0[0-7]{0,2}))/y)
  if (octal) return codePoint(parser, Number.parseInt(octal[1] ?? (octal[2] as string), 8))
  const control = parser.takeMatch(/c([\x20-\x7e])/y)
  if (control) return (control[1] as string).toUpperCase().charCodeAt(0) ^ 64
  const char = parser.takeChar()
  const letter = String.fromCodePoint(char)
  const shorthand = SHORTHANDS[letter]
  if (shorthand) return shorthand
  if (CONTROLS[letter] !== undefined) return CONTROLS[letter]
  if (/[A-Za-z0-9]/.test(letter)) parser.fail(`escape \\${letter} is not offered`)
  return char
}

function codePoint(parser: PatternReader, code: number): number {
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) parser.fail('not a character code')
  return code
}

/** For class ranges: the native spelling of one end. */
export const asSource = (meant: string | number): string =>
  typeof meant === 'number' ? charSource(meant) : meant
