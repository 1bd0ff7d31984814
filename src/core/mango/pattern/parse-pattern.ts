/**
 * Reads the text of a PCRE pattern into a tree. Throws PatternError for what is malformed or not
 * offered.
 *
 * Offered: groups (numbered, named in all three spellings, branch reset, atomic), lookaround,
 * conditionals, subroutine calls and recursion, backreferences, possessive and lazy repeats, inline
 * options i m s x U J, comments, `\Q..\E`, POSIX classes, Unicode properties, `\A \z \Z \G \b \B \h
 * \v \R \N \K`. Refused: `\X`, `\C`, callouts, backtracking verbs (all but leading `(*UTF8)`,
 * `(*UTF)`, `(*UCP)`), conditions on recursion.
 */
import { makeCharSet, SHORTHANDS } from './char-set.ts'
import { parseClass } from './parse-class.ts'
import { parseEscape } from './parse-escape.ts'
import { type Flags, PatternReader } from './pattern-reader.ts'
import {
  EMPTY,
  fixedLength,
  type GroupReference,
  type Look,
  type PatternNode,
  type RepeatMode,
} from './pattern-tree.ts'

const NESTING_MAX = 250
const REPEAT_MAX = 65_535

export interface ParsedPattern {
  readonly tree: PatternNode
  /** Bodies by group number (0 is the whole pattern). */
  readonly groups: readonly PatternNode[]
  readonly groupNumbers: ReadonlyMap<string, number>
}

const NO_FLAGS: Flags = {
  ignoreCase: false,
  multiline: false,
  dotAll: false,
  extended: false,
  ungreedy: false,
}
const FLAG_NAMES: Readonly<Record<string, keyof Flags>> = {
  i: 'ignoreCase',
  m: 'multiline',
  s: 'dotAll',
  x: 'extended',
  U: 'ungreedy',
}

export function parsePattern(source: string): ParsedPattern {
  const verbs = /^(?:\(\*(?:UTF8?|UCP)\))*/.exec(source)?.[0].length ?? 0
  return new PatternParser(source, verbs).parse()
}

class PatternParser extends PatternReader {
  readonly #groups: PatternNode[] = []
  readonly #numbers = new Map<string, number>()
  #depth = 0

  parse(): ParsedPattern {
    const tree = this.#choice(NO_FLAGS).node
    if (this.at < this.source.length) this.fail('unmatched closing parenthesis')
    this.#groups[0] = tree
    for (let index = 1; index <= this.groupCount; index++) this.#groups[index] ??= EMPTY
    return { tree, groups: this.#groups, groupNumbers: this.#numbers }
  }

  /** Inline options such as `(?i)` reach to the end of the group, through later branches too. */
  #choice(start: Flags, resetGroups = false): { node: PatternNode; flags: Flags } {
    if (++this.#depth > NESTING_MAX) this.fail('pattern is nested too deeply')
    const branches: PatternNode[] = []
    const firstGroup = this.groupCount
    let highest = firstGroup
    let flags = start
    do {
      if (resetGroups) this.groupCount = firstGroup
      const branch = this.#sequence(flags)
      flags = branch.flags
      branches.push(branch.node)
      highest = Math.max(highest, this.groupCount)
    } while (this.take('|'))
    this.groupCount = highest
    this.#depth--
    return {
      node: branches.length === 1 ? (branches[0] as PatternNode) : { kind: 'choice', branches },
      flags,
    }
  }

  #sequence(start: Flags): { node: PatternNode; flags: Flags } {
    const parts: PatternNode[] = []
    let flags = start
    while (this.at < this.source.length) {
      if (flags.extended && this.takeMatch(/(?:\s|#[^\n]*(?:\n|$))+/y)) continue
      const next = this.source[this.at]
      if (next === '|' || next === ')') break
      const options = this.#inlineOptions(flags)
      if (options) {
        flags = options
        continue
      }
      const item = this.#item(flags)
      if (item) parts.push(this.#repeats(item, flags))
    }
    return { node: joinTexts(parts), flags }
  }

  /** `(?i)`; the forms with a colon are groups. */
  #inlineOptions(flags: Flags): Flags | undefined {
    const found = this.takeMatch(/\(\?([imsxUJX]*)(?:-([imsxUJX]*))?\)/y)
    return found ? changeFlags(flags, found[1] ?? '', found[2] ?? '') : undefined
  }

  /** One thing that a repeat may follow; undefined for comments and the like. */
  #item(flags: Flags): PatternNode | undefined {
    if (this.takeMatch(/\(\?#[^)]*\)/y)) return undefined
    if (this.take('\\Q')) return this.#quoted(flags)
    if (this.take('\\E') || this.take('\\K')) return undefined
    if (this.take('(')) return this.#group(flags)
    if (this.take('[')) return parseClass(this, flags)
    if (this.take('\\')) return parseEscape(this, flags)
    if (this.take('.')) return anyCharacter(flags)
    if (this.take('^')) return { kind: 'assert', what: flags.multiline ? 'line_start' : 'start' }
    if (this.take('$')) {
      return { kind: 'assert', what: flags.multiline ? 'line_end' : 'end_or_newline' }
    }
    if (/^[*+?]$/.test(this.source[this.at] as string)) this.fail('nothing to repeat')
    return this.literal(this.takeChar(), flags)
  }

  /**
   * A repeat after `\Q..\E` binds to its last character, so all but that one are returned as one
   * text first.
   */
  #quoted(flags: Flags): PatternNode | undefined {
    const end = this.source.indexOf('\\E', this.at)
    const chars = [...this.source.slice(this.at, end < 0 ? undefined : end)]
    this.at = end < 0 ? this.source.length : end + 2
    const nodes = chars.map(char => this.literal(char.codePointAt(0) as number, flags))
    const last = nodes.pop()
    if (!last) return undefined
    return joinTexts([...nodes, this.#repeats(last, flags)])
  }

  #repeats(item: PatternNode, flags: Flags): PatternNode {
    let node = item
    for (;;) {
      if (flags.extended) this.takeMatch(/(?:\s|#[^\n]*(?:\n|$))+/y)
      const found = this.takeMatch(/(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})([+?]?)/y)
      if (!found) return node
      const [min, max] = repeatBounds(found)
      if (min > REPEAT_MAX || (max !== Number.POSITIVE_INFINITY && max > REPEAT_MAX)) {
        this.fail('number too big in a repeat')
      }
      if (max < min) this.fail('numbers out of order in a repeat')
      const lazy = (found[5] === '?') !== flags.ungreedy
      const mode: RepeatMode = found[5] === '+' ? 'possessive' : lazy ? 'lazy' : 'greedy'
      node = { kind: 'repeat', body: node, min, max, mode }
    }
  }

  #group(flags: Flags): PatternNode {
    if (this.source[this.at] === '*') this.fail('backtracking verbs are not offered')
    if (!this.take('?')) return this.#capture(flags)
    if (this.take('>')) return { kind: 'atomic', body: this.#body(flags) }
    if (this.take('|')) return this.#body(flags, true)
    const look = this.#look(flags)
    if (look) return look
    if (this.take('(')) return this.#conditional(flags)
    const named = this.takeMatch(/(?:P?<([A-Za-z_]\w*)>|'([A-Za-z_]\w*)')/y)
    if (named) return this.#capture(flags, named[1] ?? (named[2] as string))
    const same = this.takeMatch(/P=(\w+)\)/y)
    if (same) return { kind: 'same_as', group: same[1] as string, ignoreCase: flags.ignoreCase }
    const call = this.takeMatch(/(?:R|&(\w+)|P>(\w+)|([+-]?)(\d+))\)/y)
    if (call) return { kind: 'call', group: this.#calledGroup(call) }
    const options = this.takeMatch(/([imsxUJX]*)(?:-([imsxUJX]*))?:/y)
    if (!options) this.fail('unrecognised group')
    return this.#body(changeFlags(flags, options[1] ?? '', options[2] ?? ''))
  }

  #calledGroup(found: RegExpExecArray): number | string {
    const name = found[1] ?? found[2]
    if (name !== undefined) return name
    const number = Number(found[4] ?? 0)
    if (found[3] === '-') return this.groupCount - number + 1
    return found[3] === '+' ? this.groupCount + number : number
  }

  #capture(flags: Flags, name?: string): PatternNode {
    const index = ++this.groupCount
    if (name !== undefined && !this.#numbers.has(name)) this.#numbers.set(name, index)
    const body = this.#body(flags)
    this.#groups[index] ??= body
    return { kind: 'group', index, body }
  }

  #body(flags: Flags, resetGroups = false): PatternNode {
    const { node } = this.#choice(flags, resetGroups)
    if (!this.take(')')) this.fail('missing closing parenthesis')
    return node
  }

  #look(flags: Flags): Look | undefined {
    const found = this.takeMatch(/(<?)([=!])/y)
    if (!found) return undefined
    const ahead = found[1] === ''
    const body = this.#body(flags)
    if (!ahead) {
      const branches = body.kind === 'choice' ? body.branches : [body]
      if (branches.some(branch => fixedLength(branch) === undefined)) {
        this.fail('lookbehind is not of fixed length')
      }
    }
    return { kind: 'look', ahead, negative: found[2] === '!', body }
  }

  #conditional(flags: Flags): PatternNode {
    const test = this.#condition(flags)
    const body = this.#body(flags)
    const branches = body.kind === 'choice' ? body.branches : [body]
    if (branches.length > 2) this.fail('conditional group has more than two branches')
    return { kind: 'if', test, met: branches[0] as PatternNode, otherwise: branches[1] ?? EMPTY }
  }

  #condition(flags: Flags): GroupReference | Look {
    if (this.take('?')) return this.#look(flags) ?? this.fail('assertion expected')
    const found = this.takeMatch(/(?:([+-]?)(\d+)|<(\w+)>|'(\w+)'|((?!R\d*\)|R&|DEFINE\))\w+))\)/y)
    if (!found) this.fail('this condition is not offered')
    if (found[2] === undefined) return { group: found[3] ?? found[4] ?? (found[5] as string) }
    const number = Number(found[2])
    if (found[1] === '-') return { group: this.groupCount - number + 1 }
    return { group: found[1] === '+' ? this.groupCount + number : number }
  }
}

const anyCharacter = (flags: Flags): PatternNode => ({
  kind: 'set',
  set: makeCharSet(flags.dotAll ? '[\\p{Any}]' : (SHORTHANDS.N as string), false),
})

function changeFlags(flags: Flags, on: string, off: string): Flags {
  const changed = { ...flags }
  for (const letter of on) if (FLAG_NAMES[letter]) changed[FLAG_NAMES[letter]] = true
  for (const letter of off) if (FLAG_NAMES[letter]) changed[FLAG_NAMES[letter]] = false
  return changed
}

function repeatBounds(found: RegExpExecArray): [number, number] {
  if (found[1] === '*') return [0, Number.POSITIVE_INFINITY]
  if (found[1] === '+') return [1, Number.POSITIVE_INFINITY]
  if (found[1] === '?') return [0, 1]
  const min = Number(found[2])
  if (!found[3]) return [min, min]
  return [min, found[4] ? Number(found[4]) : Number.POSITIVE_INFINITY]
}

function joinTexts(parts: readonly PatternNode[]): PatternNode {
  const joined: PatternNode[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (part.kind === 'text' && last?.kind === 'text') {
      joined[joined.length - 1] = { kind: 'text', text: last.text + part.text }
    } else joined.push(part)
  }
  return joined.length === 1 ? (joined[0] as PatternNode) : { kind: 'sequence', parts: joined }
}
