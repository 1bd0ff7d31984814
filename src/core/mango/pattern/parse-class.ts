/**
 * Character classes: `[a-z]`, `[^...]`, POSIX names, escapes, `]` as the first member.
 */
import { makeCharSet, POSIX_CLASSES } from './char-set.ts'
import { asSource, classEscape } from './parse-escape.ts'
import type { Flags, PatternReader } from './pattern-reader.ts'
import type { PatternNode } from './pattern-tree.ts'

/** The opening bracket is taken already. */
export function parseClass(parser: PatternReader, flags: Flags): PatternNode {
  const negated = parser.take('^')
  const members: string[] = []
  let first = true
  while (first || !parser.take(']')) {
    if (parser.at >= parser.source.length) parser.fail('missing ] at the end of a class')
    first = false
    members.push(...classMember(parser))
  }
  return {
    kind: 'set',
    set: makeCharSet(`[${negated ? '^' : ''}${members.join('')}]`, flags.ignoreCase),
  }
}

function classMember(parser: PatternReader): string[] {
  const quoted = parser.takeMatch(/\\Q([\s\S]*?)(?:\\E|$)/y)
  if (quoted) return [...(quoted[1] as string)].map(char => asSource(char.codePointAt(0) as number))
  if (parser.take('\\E')) return []
  const posix = parser.takeMatch(/\[:(\^?)(\w+):\]/y)
  if (posix) {
    const body = POSIX_CLASSES[posix[2] as string] ?? parser.fail('unknown POSIX class name')
    return [`[${posix[1]}${body}]`]
  }
  const low = classAtom(parser)
  const rest = parser.source.slice(parser.at, parser.at + 3)
  if (typeof low !== 'number' || !/^-[^\]]/.test(rest)) return [asSource(low)]
  parser.at++
  if (parser.source.startsWith('[:', parser.at)) return [asSource(low), asSource(45)]
  const high = classAtom(parser)
  if (typeof high !== 'number') return [asSource(low), asSource(45), high]
  if (high < low) parser.fail('range out of order in a class')
  return [`${asSource(low)}-${asSource(high)}`]
}

const classAtom = (parser: PatternReader): string | number =>
  parser.take('\\') ? classEscape(parser) : parser.takeChar()
