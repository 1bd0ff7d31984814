/**
 * Some configuration values are written as Erlang terms because CouchDB reads them so:
 * `authentication_handlers`, `password_regexp`, `required_claims`. This reads the part of the
 * syntax that occurs there: atoms, integers, strings, binaries of a string, tuples and lists.
 *
 * Anything else is a `config_invalid` failure; it never guesses. Nesting is bounded.
 */
import { Failure } from '../../base/errors.ts'

export type Term = number | string | Atom | Tuple | readonly Term[]
export interface Atom {
  readonly atom: string
}
export interface Tuple {
  readonly tuple: readonly Term[]
}

const DEPTH_MAX = 16

/** A list whose outer brackets may be left out: `[a, {b, "c"}]` or `a, {b, "c"}`. */
export function parseTermList(text: string): readonly Term[] {
  const reader = new TermReader(text)
  const terms = reader.sequence(undefined, 0)
  const only = terms[0]
  return terms.length === 1 && Array.isArray(only) ? only : terms
}

export const isAtom = (term: Term | undefined): term is Atom =>
  typeof term === 'object' && 'atom' in term

export const isTuple = (term: Term | undefined): term is Tuple =>
  typeof term === 'object' && 'tuple' in term

/** The text of an atom or a string. */
export function wordOf(term: Term | undefined): string | undefined {
  if (typeof term === 'string') return term
  return isAtom(term) ? term.atom : undefined
}

const TOKEN =
  /\s*(?:(<<|>>|[[\]{},])|("(?:[^"\\]|\\[\s\S])*")|('(?:[^'\\]|\\[\s\S])*')|([a-z][\w@]*)|(-?\d+))/y

const CLOSING: Readonly<Record<string, string>> = { '[': ']', '{': '}', '<<': '>>' }

class TermReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text.trimEnd()
  }

  /** Terms up to `closing`, or up to the end of the text. */
  sequence(closing: string | undefined, depth: number): readonly Term[] {
    if (depth > DEPTH_MAX) this.#refuse()
    const terms: Term[] = []
    if (this.#takes(closing)) return terms
    for (;;) {
      terms.push(this.#term(depth))
      if (this.#takes(closing)) return terms
      if (this.#next()[1] !== ',') this.#refuse()
    }
  }

  #term(depth: number): Term {
    const [, mark, text, quotedAtom, atom, digits] = this.#next()
    if (digits !== undefined) return Number(digits)
    if (atom !== undefined) return { atom }
    if (quotedAtom !== undefined) return { atom: unquote(quotedAtom) }
    if (text !== undefined) return unquote(text)
    const closing = CLOSING[mark as string]
    if (closing === undefined) this.#refuse()
    const inner = this.sequence(closing, depth + 1)
    if (mark === '[') return inner
    if (mark === '{') return { tuple: inner }
    const only = inner.length === 0 ? '' : inner[0]
    if (inner.length > 1 || typeof only !== 'string') this.#refuse()
    return only
  }

  #next(): RegExpExecArray {
    TOKEN.lastIndex = this.#at
    const found = TOKEN.exec(this.#text)
    if (!found) this.#refuse()
    this.#at = TOKEN.lastIndex
    return found
  }

  #takes(closing: string | undefined): boolean {
    if (closing === undefined) return this.#at >= this.#text.length
    const before = this.#at
    if (before < this.#text.length && this.#next()[1] === closing) return true
    this.#at = before
    return false
  }

  #refuse(): never {
    throw new Failure('config_invalid', {
      reason: `Not a list of Erlang terms, see position ${this.#at}`,
      subject: this.#text,
    })
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', s: ' ', e: '\u001b' }

/**
 * A backslash before any other character stands for that character, as in Erlang (`\\d` is `\d`).
 */
const unquote = (quoted: string): string =>
  quoted.slice(1, -1).replace(/\\([\s\S])/g, (_, char: string) => ESCAPES[char] ?? char)
