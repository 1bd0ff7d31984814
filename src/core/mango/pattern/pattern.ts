/**
 * `$regex` patterns: PCRE syntax, matched anywhere in a text, in bounded time.
 *
 * Two engines. The native one runs only what it finishes soon whatever the text is: patterns with
 * no place where a matcher could choose cost (text × pattern) at most, those with one such place (a
 * variable repeat of a character or an alternation) at most (text² × pattern), and both factors are
 * bounded below. Everything else runs on the stepping matcher, where each text has a budget of
 * steps (a million take some 50 ms) and the caller may give one for all texts together.
 */
import type { CharSet } from './char-set.ts'
import { type ParsedPattern, parsePattern } from './parse-pattern.ts'
import { compileProgram, type Program } from './pattern-program.ts'
import { PatternError, type PatternNode, singleCharSet } from './pattern-tree.ts'
import { runProgram, type Search, type StepBudget, stepsExhausted } from './run-program.ts'

/** Steps for one text: long texts get more, in proportion, up to a bound. */
export const STEPS_PER_TEXT = 2_000_000
const STEPS_PER_CHAR = 8
const STEPS_PER_TEXT_MAX = 40_000_000
/** The native engine's bounds, by the number of choices in the pattern. */
const NATIVE_BOUNDS = [
  { textChars: 100_000, patternChars: 200 },
  { textChars: 1_000, patternChars: 50 },
] as const
const PATTERN_CHARS_MAX = 32_768

export interface Pattern {
  readonly source: string
  /**
   * Throws Failure('timeout') when the steps for this text, or those left in `total`, do not
   * suffice.
   */
  test(text: string, total?: StepBudget): boolean
}

/** Throws PatternError. */
export function compilePattern(source: string): Pattern {
  if (source.length > PATTERN_CHARS_MAX) throw new PatternError('pattern is too long')
  const parsed = parsePattern(source)
  const program = compileProgram(parsed)
  const native = nativePattern(parsed)
  const search = {
    prefix: textPrefix(parsed.tree),
    anchored: isAnchored(parsed.tree),
    leading: hasReferences(parsed.tree) ? undefined : leadingSet(parsed.tree),
  }
  const test = (text: string, total?: StepBudget) =>
    native !== undefined && text.length <= native.textChars
      ? native.pattern.test(text)
      : runBounded(program, text, search, total)
  return { source, test }
}

function runBounded(
  program: Program,
  text: string,
  search: Search,
  total: StepBudget | undefined,
): boolean {
  const wanted = Math.max(STEPS_PER_TEXT, text.length * STEPS_PER_CHAR)
  const steps = Math.min(wanted, STEPS_PER_TEXT_MAX)
  const budget = { stepsLeft: total ? Math.min(steps, total.stepsLeft) : steps }
  const given = budget.stepsLeft
  if (given < 0) throw stepsExhausted()
  try {
    return runProgram(program, text, budget, search)
  } finally {
    if (total) total.stepsLeft -= given - budget.stepsLeft
  }
}

/** The native equivalent where it is safe and exists, else undefined. */
function nativePattern(
  parsed: ParsedPattern,
): { readonly pattern: RegExp; readonly textChars: number } | undefined {
  const cases = new Set<boolean>()
  const counted = { choices: 0, chars: 0 }
  const source = nativeSource(parsed.tree, counted, cases)
  const bounds = NATIVE_BOUNDS[counted.choices]
  if (source === undefined || !bounds || counted.chars > bounds.patternChars || cases.size > 1) {
    return undefined
  }
  try {
    const pattern = new RegExp(source, cases.has(true) ? 'vi' : 'v')
    return { pattern, textChars: bounds.textChars }
  } catch {
    return undefined
  }
}

const NATIVE_ASSERTIONS: Readonly<Record<string, string>> = {
  start: '^',
  end: '$',
  end_or_newline: '(?=\\n?$)',
}

function nativeSource(
  node: PatternNode,
  counted: { choices: number; chars: number },
  cases: Set<boolean>,
): string | undefined {
  switch (node.kind) {
    case 'text':
      counted.chars += node.text.length
      if (/[\p{L}]/u.test(node.text)) cases.add(false)
      return [...node.text]
        .map(char => `\\u{${(char.codePointAt(0) as number).toString(16)}}`)
        .join('')
    case 'set':
      counted.chars++
      cases.add(node.set.ignoreCase)
      return node.set.source
    case 'sequence':
      return joined(node.parts, '', counted, cases)
    case 'choice':
      counted.choices++
      return joined(node.branches, '|', counted, cases)
    case 'group': {
      const body = nativeSource(node.body, counted, cases)
      return body === undefined ? undefined : `(?:${body})`
    }
    case 'repeat':
      return nativeRepeat(node, counted, cases)
    case 'assert':
      return NATIVE_ASSERTIONS[node.what]
    default:
      return undefined
  }
}

function joined(
  nodes: readonly PatternNode[],
  separator: string,
  counted: { choices: number; chars: number },
  cases: Set<boolean>,
): string | undefined {
  const sources = nodes.map(node => nativeSource(node, counted, cases))
  if (sources.includes(undefined)) return undefined
  const source = sources.join(separator)
  return separator === '' ? source : `(?:${source})`
}

/** Only repeats of single characters: those cost what they take. */
function nativeRepeat(
  node: PatternNode & { kind: 'repeat' },
  counted: { choices: number; chars: number },
  cases: Set<boolean>,
): string | undefined {
  const { body, min, max, mode } = node
  if (!singleCharSet(body) || mode === 'possessive') return undefined
  if (min !== max) counted.choices++
  counted.chars += min
  const source = nativeSource(body, counted, cases)
  const bounds = `{${min},${max === Number.POSITIVE_INFINITY ? '' : max}}`
  return `${source}${bounds}${mode === 'lazy' ? '?' : ''}`
}

function textPrefix(node: PatternNode): string {
  if (node.kind === 'text') return node.text
  if (node.kind === 'sequence' && node.parts[0]) return textPrefix(node.parts[0])
  return node.kind === 'group' ? textPrefix(node.body) : ''
}

function isAnchored(node: PatternNode): boolean {
  if (node.kind === 'assert') return node.what === 'start'
  if (node.kind === 'sequence') return node.parts[0] !== undefined && isAnchored(node.parts[0])
  if (node.kind === 'choice') return node.branches.every(isAnchored)
  return node.kind === 'group' && isAnchored(node.body)
}

/** The characters of an unlimited repeat that the pattern begins with. */
function leadingSet(node: PatternNode): CharSet | undefined {
  if (node.kind === 'sequence' && node.parts[0]) return leadingSet(node.parts[0])
  if (node.kind === 'group') return leadingSet(node.body)
  if (node.kind !== 'repeat' || node.max !== Number.POSITIVE_INFINITY) return undefined
  return singleCharSet(node.body)
}

/** Whether what one part takes can matter to another. */
function hasReferences(node: PatternNode): boolean {
  switch (node.kind) {
    case 'same_as':
    case 'call':
    case 'if':
      return true
    case 'sequence':
      return node.parts.some(hasReferences)
    case 'choice':
      return node.branches.some(hasReferences)
    case 'repeat':
    case 'group':
    case 'atomic':
    case 'look':
      return hasReferences(node.body)
    default:
      return false
  }
}
