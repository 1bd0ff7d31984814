/**
 * Turns a pattern's tree into a flat program for the stepping matcher (`run-program.ts`).
 *
 * Counted repeats of groups are unrolled, so the size of a program is bounded here; repeats of
 * single characters are one instruction. Lookaround, atomic groups and called groups are programs
 * of their own that end with `accept`.
 */
import type { CharSet } from './char-set.ts'
import type { ParsedPattern } from './parse-pattern.ts'
import {
  type Assertion,
  fixedLength,
  type GroupReference,
  type Look,
  PatternError,
  type PatternNode,
  singleCharSet,
} from './pattern-tree.ts'

export const INSTRUCTIONS_MAX = 20_000

export type Instruction =
  | { readonly op: 'text'; readonly text: string }
  | { readonly op: 'set'; readonly set: CharSet }
  | {
      readonly op: 'set_repeat'
      readonly set: CharSet
      readonly min: number
      readonly max: number
      readonly mode: 'greedy' | 'lazy' | 'possessive'
    }
  | { op: 'split'; first: number; second: number }
  | { op: 'jump'; to: number }
  | { readonly op: 'save'; readonly slot: number }
  /** Leaves a loop whose last turn took nothing. */
  | { op: 'progress'; slot: number; exit: number }
  | { readonly op: 'assert'; readonly what: Assertion }
  | { readonly op: 'same_as'; readonly group: number; readonly ignoreCase: boolean }
  | { op: 'atomic'; body: number; next: number }
  | { op: 'look'; body: number; next: number; negative: boolean; back: number; otherwise: number }
  | { readonly op: 'call'; readonly group: number }
  | { op: 'if_group'; group: number; otherwise: number }
  | { readonly op: 'accept' }

export interface Program {
  readonly code: readonly Instruction[]
  readonly slotCount: number
  /** Where the program of each called group begins. */
  readonly entries: ReadonlyMap<number, number>
}

export function compileProgram(parsed: ParsedPattern): Program {
  return new ProgramWriter(parsed).write()
}

const FAILS = -1

class ProgramWriter {
  readonly #parsed: ParsedPattern
  readonly #code: Instruction[] = []
  readonly #entries = new Map<number, number>()
  readonly #called: number[] = []
  #slotCount: number

  constructor(parsed: ParsedPattern) {
    this.#parsed = parsed
    this.#slotCount = parsed.groups.length * 2
  }

  write(): Program {
    this.#node(this.#parsed.tree)
    this.#put({ op: 'accept' })
    for (let next = this.#called.pop(); next !== undefined; next = this.#called.pop()) {
      if (this.#entries.has(next)) continue
      this.#entries.set(next, this.#code.length)
      this.#node(this.#parsed.groups[next] as PatternNode)
      this.#put({ op: 'accept' })
    }
    return { code: this.#code, slotCount: this.#slotCount, entries: this.#entries }
  }

  #put<I extends Instruction>(instruction: I): I {
    if (this.#code.length >= INSTRUCTIONS_MAX) throw new PatternError('pattern is too large')
    this.#code.push(instruction)
    return instruction
  }

  get #here(): number {
    return this.#code.length
  }

  #node(node: PatternNode): void {
    switch (node.kind) {
      case 'text':
        this.#put({ op: 'text', text: node.text })
        return
      case 'set':
        this.#put({ op: 'set', set: node.set })
        return
      case 'sequence':
        for (const part of node.parts) this.#node(part)
        return
      case 'choice':
        this.#choice(node.branches)
        return
      case 'repeat':
        this.#repeat(node)
        return
      case 'group':
        this.#put({ op: 'save', slot: node.index * 2 })
        this.#node(node.body)
        this.#put({ op: 'save', slot: node.index * 2 + 1 })
        return
      case 'atomic':
        this.#atomic(node.body)
        return
      case 'look':
        this.#look(node)
        return
      case 'assert':
        this.#put({ op: 'assert', what: node.what })
        return
      case 'same_as':
        this.#put({ op: 'same_as', group: this.#group(node), ignoreCase: node.ignoreCase })
        return
      case 'call':
        this.#called.push(this.#group(node))
        this.#put({ op: 'call', group: this.#group(node) })
        return
      case 'if':
        this.#conditional(node)
        return
    }
  }

  #group(reference: GroupReference): number {
    const { group } = reference
    const number = typeof group === 'string' ? this.#parsed.groupNumbers.get(group) : group
    if (number === undefined || number < 0 || number >= this.#parsed.groups.length) {
      throw new PatternError(`there is no group ${group}`)
    }
    return number
  }

  #choice(branches: readonly PatternNode[]): void {
    const jumps: { to: number }[] = []
    for (const [at, branch] of branches.entries()) {
      if (at === branches.length - 1) {
        this.#node(branch)
        continue
      }
      const split = this.#put({ op: 'split', first: this.#here + 1, second: 0 })
      this.#node(branch)
      jumps.push(this.#put({ op: 'jump', to: 0 }))
      split.second = this.#here
    }
    for (const jump of jumps) jump.to = this.#here
  }

  #repeat(node: PatternNode & { kind: 'repeat' }): void {
    const { body, min, max, mode } = node
    const set = singleCharSet(body)
    if (set) {
      this.#put({ op: 'set_repeat', set, min, max, mode })
    } else if (mode === 'possessive') this.#atomic({ ...node, mode: 'greedy' })
    else {
      for (let turn = 0; turn < min; turn++) this.#node(body)
      if (max === Number.POSITIVE_INFINITY) this.#loop(body, mode === 'lazy')
      else this.#optional(body, max - min, mode === 'lazy')
    }
  }

  #loop(body: PatternNode, lazy: boolean): void {
    const slot = this.#slotCount++
    const start = this.#here
    const split = this.#put({ op: 'split', first: 0, second: 0 })
    const into = this.#here
    this.#put({ op: 'save', slot })
    this.#node(body)
    const progress = this.#put({ op: 'progress', slot, exit: 0 })
    this.#put({ op: 'jump', to: start })
    progress.exit = this.#here
    split.first = lazy ? this.#here : into
    split.second = lazy ? into : this.#here
  }

  #optional(body: PatternNode, times: number, lazy: boolean): void {
    const splits: { split: { first: number; second: number }; into: number }[] = []
    for (let turn = 0; turn < times; turn++) {
      splits.push({ split: this.#put({ op: 'split', first: 0, second: 0 }), into: this.#here })
      this.#node(body)
    }
    for (const { split, into } of splits) {
      split.first = lazy ? this.#here : into
      split.second = lazy ? into : this.#here
    }
  }

  #atomic(body: PatternNode): void {
    const atomic = this.#put({ op: 'atomic', body: this.#here + 1, next: 0 })
    this.#node(body)
    this.#put({ op: 'accept' })
    atomic.next = this.#here
  }

  /**
   * Lookbehind of branches with different lengths becomes a choice (or, negated, a sequence) of
   * single ones.
   */
  #look(look: Look): void {
    const branches = look.body.kind === 'choice' ? look.body.branches : [look.body]
    if (look.ahead) this.#lookOnce(look.body, look.negative, 0)
    else if (look.negative) {
      for (const branch of branches) this.#lookOnce(branch, true, fixedLength(branch) as number)
    } else if (branches.length === 1)
      this.#lookOnce(
        branches[0] as PatternNode,
        false,
        fixedLength(branches[0] as PatternNode) as number,
      )
    else {
      this.#choice(branches.map(body => ({ kind: 'look', ahead: false, negative: false, body })))
    }
  }

  #lookOnce(body: PatternNode, negative: boolean, back: number): void {
    const put = {
      op: 'look',
      body: this.#here + 1,
      next: 0,
      negative,
      back,
      otherwise: FAILS,
    } as const
    const look = this.#put({ ...put } as Instruction & { op: 'look' })
    this.#node(body)
    this.#put({ op: 'accept' })
    look.next = this.#here
  }

  #conditional(node: PatternNode & { kind: 'if' }): void {
    const { test } = node
    if ('kind' in test) {
      this.#assertedConditional(test, node)
      return
    }
    const branch = this.#put({ op: 'if_group', group: this.#group(test), otherwise: 0 })
    this.#node(node.met)
    const jump = this.#put({ op: 'jump', to: 0 })
    branch.otherwise = this.#here
    this.#node(node.otherwise)
    jump.to = this.#here
  }

  #assertedConditional(test: Look, node: PatternNode & { kind: 'if' }): void {
    const back = test.ahead ? 0 : fixedLength(test.body)
    if (back === undefined) throw new PatternError('lookbehind condition is not of one length')
    const look = this.#put({
      op: 'look',
      body: this.#here + 1,
      next: 0,
      negative: test.negative,
      back,
      otherwise: FAILS,
    } as Instruction & { op: 'look' })
    this.#node(test.body)
    this.#put({ op: 'accept' })
    look.next = this.#here
    this.#node(node.met)
    const jump = this.#put({ op: 'jump', to: 0 })
    look.otherwise = this.#here
    this.#node(node.otherwise)
    jump.to = this.#here
  }
}
