/**
 * The parsed form of a pattern, and what can be said of it without running it.
 */
import type { CharSet } from './char-set.ts'

export type Assertion =
  | 'start'
  | 'end'
  | 'end_or_newline'
  | 'line_start'
  | 'line_end'
  | 'word'
  | 'not_word'

export type RepeatMode = 'greedy' | 'lazy' | 'possessive'
export type Look = {
  readonly kind: 'look'
  readonly ahead: boolean
  readonly negative: boolean
  readonly body: PatternNode
}
/** A group by number, or by name until the whole pattern is read. */
export type GroupReference = { readonly group: number | string }

export type PatternNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'set'; readonly set: CharSet }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly branches: readonly PatternNode[] }
  | {
      readonly kind: 'repeat'
      readonly body: PatternNode
      readonly min: number
      readonly max: number
      readonly mode: RepeatMode
    }
  | { readonly kind: 'group'; readonly index: number; readonly body: PatternNode }
  | { readonly kind: 'atomic'; readonly body: PatternNode }
  | Look
  | { readonly kind: 'assert'; readonly what: Assertion }
  | ({ readonly kind: 'same_as'; readonly ignoreCase: boolean } & GroupReference)
  | ({ readonly kind: 'call' } & GroupReference)
  | {
      readonly kind: 'if'
      readonly test: GroupReference | Look
      readonly met: PatternNode
      readonly otherwise: PatternNode
    }

export const EMPTY: PatternNode = { kind: 'sequence', parts: [] }

export class PatternError extends Error {
  override readonly name = 'PatternError'
}

/** Length in characters when every match has the same one, else undefined. Lookbehind needs it. */
export function fixedLength(node: PatternNode): number | undefined {
  switch (node.kind) {
    case 'text':
      return [...node.text].length
    case 'set':
      return 1
    case 'sequence':
      return node.parts.reduce<number | undefined>((sum, part) => add(sum, fixedLength(part)), 0)
    case 'choice':
      return node.branches.map(fixedLength).reduce((a, b) => (a === b ? a : undefined))
    case 'repeat': {
      const length = fixedLength(node.body)
      return node.min === node.max && length !== undefined ? length * node.min : undefined
    }
    case 'group':
    case 'atomic':
      return fixedLength(node.body)
    case 'look':
    case 'assert':
      return 0
    default:
      return undefined
  }
}

const add = (a: number | undefined, b: number | undefined) =>
  a === undefined || b === undefined ? undefined : a + b

/** The set of a part that always takes exactly one character, else undefined. */
export function singleCharSet(node: PatternNode): CharSet | undefined {
  if (node.kind === 'set') return node.set
  if (node.kind !== 'text' || [...node.text].length !== 1) return undefined
  const code = node.text.codePointAt(0) as number
  return { source: '', ignoreCase: false, has: candidate => candidate === code }
}
