/**
 * Runs a pattern's program over one text by backtracking, and counts every step.
 *
 * Why not the native engine: it cannot be interrupted, and `(a+)+$` holds it for years. Here each
 * step (an instruction, a character taken by a repeat, a frame given back) comes off a budget, and
 * an empty budget ends the match with Failure('timeout'). The stack of things to come back to is a
 * list on the heap with a bound, so long texts cannot overflow the call stack; calls nest only for
 * lookaround, atomic groups and recursion, the last with a bound.
 */
import { Failure } from '../../../base/errors.ts'
import type { CharSet } from './char-set.ts'
import type { Instruction, Program } from './pattern-program.ts'
import type { Assertion } from './pattern-tree.ts'

export const FRAMES_MAX = 1_000_000
export const CALLS_MAX = 500

/** Counts down; shared by all matches of one request when it is to bound them together. */
export interface StepBudget {
  stepsLeft: number
}

export function stepsExhausted(): Failure {
  return new Failure('timeout', {
    reason: 'The $regex pattern needs too many steps on the text of a document.',
  })
}

/** What is known of where a match can begin. */
export interface Search {
  /** A text that every match begins with. */
  readonly prefix: string
  /** Only at the beginning of the text. */
  readonly anchored: boolean
  /**
   * The set of an unlimited repeat that the pattern begins with: a match that could begin after one
   * of these characters could as well begin before it. Without this `.*x` takes the square of the
   * text.
   */
  readonly leading: CharSet | undefined
}

/** Whether the pattern matches somewhere in the text. */
export function runProgram(
  program: Program,
  text: string,
  budget: StepBudget,
  search: Search,
): boolean {
  const run = new Run(program, text, budget)
  if (search.anchored) return run.matchAt(0)
  for (let start = 0; start <= text.length; start++) {
    if (search.prefix !== '') {
      start = text.indexOf(search.prefix, start)
      if (start < 0) return false
    } else if (isLowSurrogate(text, start)) continue
    if (search.leading && start > 0 && search.leading.has(codePointBefore(text, start))) continue
    if (run.matchAt(start)) return true
  }
  return false
}

// Kinds of frames; a frame is four numbers on the stack: kind and three more.
const BRANCH = 0 // pc, position
const UNDO = 1 // slot, value
const SHRINK = 2 // pc after a greedy repeat, least position, position
const GROW = 3 // pc of a lazy repeat, position, count

class Run {
  readonly #program: Program
  readonly #code: readonly Instruction[]
  readonly #text: string
  readonly #budget: StepBudget
  readonly #slots: Int32Array
  #stack: number[] = []
  #calls = 0

  constructor(program: Program, text: string, budget: StepBudget) {
    this.#program = program
    this.#code = program.code
    this.#text = text
    this.#budget = budget
    this.#slots = new Int32Array(program.slotCount).fill(-1)
  }

  matchAt(start: number): boolean {
    this.#stack = []
    this.#slots.fill(-1)
    return this.#run(0, start) >= 0
  }

  /**
   * The position after the match, or -1. Frames below the present height of the stack are left
   * alone.
   */
  #run(entry: number, start: number): number {
    const floor = this.#stack.length
    let pc = entry
    let at = start
    for (;;) {
      this.#spend(1)
      const instruction = this.#code[pc] as Instruction
      if (instruction.op === 'accept') return at
      const moved = this.#step(instruction, pc, at)
      if (moved >= 0) {
        at = moved
        pc = this.#next
        continue
      }
      if (!this.#backtrack(floor)) return -1
      at = this.#at
      pc = this.#next
    }
  }

  /** Where to go on; set by `#step` and `#backtrack`, which is cheaper than returning pairs. */
  #next = 0
  #at = 0

  #spend(steps: number): void {
    this.#budget.stepsLeft -= steps
    if (this.#budget.stepsLeft < 0) throw stepsExhausted()
  }

  #push(kind: number, a: number, b: number, c: number): void {
    if (this.#stack.length >= FRAMES_MAX * 4) throw stepsExhausted()
    this.#stack.push(kind, a, b, c)
  }

  #set(slot: number, value: number): void {
    this.#push(UNDO, slot, this.#slots[slot] as number, 0)
    this.#slots[slot] = value
  }

  /** The position after the instruction, or -1 when it fails. */
  #step(instruction: Instruction, pc: number, at: number): number {
    this.#next = pc + 1
    switch (instruction.op) {
      case 'text':
        return this.#text.startsWith(instruction.text, at) ? at + instruction.text.length : -1
      case 'set':
        return this.#takeOne(instruction.set, at)
      case 'set_repeat':
        return this.#takeMany(instruction, pc, at)
      case 'split':
        this.#push(BRANCH, instruction.second, at, 0)
        this.#next = instruction.first
        return at
      case 'jump':
        this.#next = instruction.to
        return at
      case 'save':
        this.#set(instruction.slot, at)
        return at
      case 'progress':
        if (this.#slots[instruction.slot] === at) this.#next = instruction.exit
        return at
      case 'assert':
        return holds(instruction.what, this.#text, at) ? at : -1
      case 'same_as':
        return this.#takeSame(instruction.group, instruction.ignoreCase, at)
      case 'if_group':
        if ((this.#slots[instruction.group * 2 + 1] as number) < 0)
          this.#next = instruction.otherwise
        return at
      default:
        return this.#stepInside(instruction, at)
    }
  }

  #stepInside(instruction: Instruction, at: number): number {
    if (instruction.op === 'atomic') {
      const height = this.#stack.length
      const end = this.#run(instruction.body, at)
      this.#next = instruction.next
      if (end >= 0) this.#keepUndos(height)
      return end
    }
    if (instruction.op === 'look') return this.#look(instruction, at)
    if (instruction.op === 'call') return this.#call(instruction.group, this.#next, at)
    return -1
  }

  #look(instruction: Instruction & { op: 'look' }, at: number): number {
    const height = this.#stack.length
    const start = stepBack(this.#text, at, instruction.back)
    const found = start >= 0 && this.#run(instruction.body, start) >= 0
    if (found && !instruction.negative) this.#keepUndos(height)
    else this.#unwind(height)
    const passed = found !== instruction.negative
    this.#next = passed ? instruction.next : instruction.otherwise
    return this.#next < 0 ? -1 : at
  }

  /** A called group is atomic and leaves captures as they were. */
  #call(group: number, next: number, at: number): number {
    if (++this.#calls > CALLS_MAX) throw stepsExhausted()
    const height = this.#stack.length
    const end = this.#run(this.#program.entries.get(group) as number, at)
    this.#unwind(height)
    this.#calls--
    this.#next = next
    return end
  }

  #takeOne(set: { has(code: number): boolean }, at: number): number {
    const code = this.#text.codePointAt(at)
    if (code === undefined || !set.has(code)) return -1
    return at + (code > 0xffff ? 2 : 1)
  }

  #takeMany(repeat: Instruction & { op: 'set_repeat' }, pc: number, start: number): number {
    let at = start
    let count = 0
    let least = repeat.min === 0 ? start : -1
    const wanted = repeat.mode === 'lazy' ? repeat.min : repeat.max
    for (; count < wanted; count++) {
      const next = this.#takeOne(repeat.set, at)
      if (next < 0) break
      at = next
      if (count + 1 === repeat.min) least = at
    }
    this.#spend(count)
    if (count < repeat.min) return -1
    if (repeat.mode === 'greedy' && at > least) this.#push(SHRINK, pc + 1, least, at)
    if (repeat.mode === 'lazy' && count < repeat.max) this.#push(GROW, pc, at, count)
    return at
  }

  #takeSame(group: number, ignoreCase: boolean, at: number): number {
    const from = this.#slots[group * 2] as number
    const to = this.#slots[group * 2 + 1] as number
    if (from < 0 || to < from) return -1
    this.#spend(to - from)
    const wanted = this.#text.slice(from, to)
    const there = this.#text.slice(at, at + wanted.length)
    const same = there === wanted || (ignoreCase && there.toLowerCase() === wanted.toLowerCase())
    return same ? at + wanted.length : -1
  }

  /** Goes back to the last frame above `floor` that offers another way. */
  #backtrack(floor: number): boolean {
    const stack = this.#stack
    while (stack.length > floor) {
      this.#spend(1)
      const c = stack.pop() as number
      const b = stack.pop() as number
      const a = stack.pop() as number
      const kind = stack.pop() as number
      if (kind === UNDO) this.#slots[a] = b
      else if (kind === GROW) {
        if (this.#grow(a, b, c)) return true
      } else {
        this.#next = a
        this.#at = kind === BRANCH ? b : this.#shrink(a, b, c)
        return true
      }
    }
    return false
  }

  #shrink(pc: number, least: number, at: number): number {
    const shorter = isLowSurrogate(this.#text, at - 1) ? at - 2 : at - 1
    if (shorter > least) this.#push(SHRINK, pc, least, shorter)
    return shorter
  }

  #grow(pc: number, at: number, count: number): boolean {
    const repeat = this.#code[pc] as Instruction & { op: 'set_repeat' }
    const longer = this.#takeOne(repeat.set, at)
    if (longer < 0) return false
    if (count + 1 < repeat.max) this.#push(GROW, pc, longer, count + 1)
    this.#next = pc + 1
    this.#at = longer
    return true
  }

  /** Undoes everything above the height. */
  #unwind(height: number): void {
    const stack = this.#stack
    while (stack.length > height) {
      stack.pop()
      const b = stack.pop() as number
      const a = stack.pop() as number
      if (stack.pop() === UNDO) this.#slots[a] = b
    }
  }

  /**
   * Forgets the other ways above the height, but not how to restore captures when going back
   * further.
   */
  #keepUndos(height: number): void {
    const stack = this.#stack
    let kept = height
    for (let at = height; at < stack.length; at += 4) {
      if (stack[at] !== UNDO) continue
      for (let part = 0; part < 4; part++) stack[kept + part] = stack[at + part] as number
      kept += 4
    }
    this.#spend((stack.length - height) >> 2)
    stack.length = kept
  }
}

function holds(what: Assertion, text: string, at: number): boolean {
  switch (what) {
    case 'start':
      return at === 0
    case 'end':
      return at === text.length
    case 'end_or_newline':
      return at === text.length || (at === text.length - 1 && text[at] === '\n')
    case 'line_start':
      return at === 0 || (text[at - 1] === '\n' && at < text.length)
    case 'line_end':
      return at === text.length || text[at] === '\n'
    case 'word':
      return isWordBefore(text, at) !== isWordAt(text, at)
    case 'not_word':
      return isWordBefore(text, at) === isWordAt(text, at)
  }
}

const WORD = /[\p{L}\p{N}_]/u

const isWordAt = (text: string, at: number) => {
  const code = text.codePointAt(at)
  return code !== undefined && WORD.test(String.fromCodePoint(code))
}
const isWordBefore = (text: string, at: number) =>
  at > 0 && isWordAt(text, isLowSurrogate(text, at - 1) ? at - 2 : at - 1)

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** The position some characters earlier, or -1 before the beginning. */
function stepBack(text: string, from: number, count: number): number {
  let at = from
  for (let left = count; left > 0; left--) {
    if (at === 0) return -1
    at -= isLowSurrogate(text, at - 1) ? 2 : 1
  }
  return at
}

const codePointBefore = (text: string, at: number): number =>
  text.codePointAt(isLowSurrogate(text, at - 1) ? at - 2 : at - 1) as number
