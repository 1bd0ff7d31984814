/**
 * The cursor over a pattern's text that the parsers of this folder share, and the options in force
 * at a place.
 */
import { charSource, makeCharSet } from './char-set.ts'
import { PatternError, type PatternNode } from './pattern-tree.ts'

export interface Flags {
  readonly ignoreCase: boolean
  readonly multiline: boolean
  readonly dotAll: boolean
  readonly extended: boolean
  readonly ungreedy: boolean
}

export class PatternReader {
  readonly source: string
  at: number
  /** Capturing groups opened so far. */
  groupCount = 0

  constructor(source: string, at: number) {
    this.source = source
    this.at = at
  }

  fail(what: string): never {
    throw new PatternError(`${what} at offset ${this.at}`)
  }

  /** Takes the text when it is next. */
  take(text: string): boolean {
    if (!this.source.startsWith(text, this.at)) return false
    this.at += text.length
    return true
  }

  /** Takes what a sticky expression finds here. */
  takeMatch(sticky: RegExp): RegExpExecArray | undefined {
    sticky.lastIndex = this.at
    const found = sticky.exec(this.source)
    if (found) this.at += found[0].length
    return found ?? undefined
  }

  takeChar(): number {
    const code = this.source.codePointAt(this.at)
    if (code === undefined) this.fail('unexpected end')
    this.at += code > 0xffff ? 2 : 1
    return code
  }

  literal(code: number, flags: Flags): PatternNode {
    if (!flags.ignoreCase) return { kind: 'text', text: String.fromCodePoint(code) }
    return { kind: 'set', set: makeCharSet(`[${charSource(code)}]`, true) }
  }
}
