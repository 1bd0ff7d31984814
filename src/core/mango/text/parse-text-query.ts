/**
 * The query of `$text`, in the syntax that Lucene made common: terms, "phrases" with ~distance, prefix* and wild?cards,
 * field:term, ranges [a TO b] and {a TO b}, groups (…), AND OR NOT && || !, +must, -must not, and ^boost.
 *
 * Clauses stand beside each other with OR between them; AND makes both of its neighbours required, as in Lucene's own
 * parser. What is not offered (fuzzy terms, regular expressions) is refused, not ignored.
 * Failure('mango_invalid') with `text_search_error`.
 */
import { mangoFailure } from '../mango-failure.ts'

export type TextQuery =
  | { readonly kind: 'everything'; readonly boost: number }
  | { readonly kind: 'term'; readonly field: string; readonly text: string; readonly boost: number }
  | {
      readonly kind: 'phrase'
      readonly field: string
      readonly text: string
      /** How many places the terms may be apart from where they should be. */
      readonly slop: number
      readonly boost: number
    }
  | {
      readonly kind: 'pattern'
      readonly field: string
      /** Literal texts between `*` (null) and `?` (undefined). */
      readonly parts: readonly (string | null | undefined)[]
      readonly boost: number
    }
  | {
      readonly kind: 'range'
      readonly field: string
      /** Undefined: open. */
      readonly low: string | undefined
      readonly high: string | undefined
      readonly lowIncluded: boolean
      readonly highIncluded: boolean
      readonly boost: number
    }
  | { readonly kind: 'clauses'; readonly clauses: readonly Clause[]; readonly boost: number }

export interface Clause {
  readonly occurs: 'must' | 'should' | 'never'
  readonly query: TextQuery
}

const DEPTH_MAX = 100
const QUERY_CHARS_MAX = 64 * 1024

/** @param field where terms without a field are looked for */
export function parseTextQuery(text: string, field: string): TextQuery {
  if (text.length > QUERY_CHARS_MAX) throw invalid('The query is too long')
  const parser = new Parser(tokenize(text))
  const query = parser.clauses(field, 0)
  parser.expectEnd()
  return query
}

export const invalid = (reason: string) => mangoFailure('text_search_error', reason)

type Token =
  | { readonly kind: 'word'; readonly text: string; readonly parts: Parts; readonly plain: boolean }
  | { readonly kind: 'quoted'; readonly text: string }
  | { readonly kind: 'sign'; readonly sign: string }

type Parts = readonly (string | null | undefined)[]

const SIGNS = new Set(['(', ')', '[', ']', '{', '}', ':', '^', '~', '+', '-', '!'])
const ENDS_WORD = /[\s()[\]{}:^~"]/

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    const char = text[at] as string
    if (/\s/.test(char)) at++
    else if (char === '"') {
      const { value, end } = quoted(text, at + 1)
      tokens.push({ kind: 'quoted', text: value })
      at = end
    } else if (text.startsWith('&&', at) || text.startsWith('||', at)) {
      tokens.push({ kind: 'sign', sign: text.slice(at, at + 2) })
      at += 2
    } else if (char === '/') throw invalid('Regular expressions are not offered in $text')
    else if (SIGNS.has(char)) {
      tokens.push({ kind: 'sign', sign: char })
      at++
    } else {
      const { token, end } = word(text, at)
      tokens.push(token)
      at = end
    }
  }
  return tokens
}

function quoted(text: string, start: number): { value: string; end: number } {
  let value = ''
  for (let at = start; at < text.length; at++) {
    if (text[at] === '"') return { value, end: at + 1 }
    if (text[at] === '\\') at++
    value += text[at] ?? ''
  }
  throw invalid('A phrase has no end')
}

function word(text: string, start: number): { token: Token; end: number } {
  const parts: (string | null | undefined)[] = []
  let literal = ''
  let raw = ''
  let escaped = false
  const endLiteral = () => {
    if (literal !== '') parts.push(literal)
    literal = ''
  }
  let at = start
  for (; at < text.length && !ENDS_WORD.test(text[at] as string); at++) {
    let char = text[at] as string
    if (char === '*' || char === '?') {
      endLiteral()
      parts.push(char === '*' ? null : undefined)
    } else {
      if (char === '\\') {
        escaped = true
        char = text[++at] ?? ''
      }
      literal += char
    }
    raw += char
  }
  endLiteral()
  return { token: { kind: 'word', text: raw, parts, plain: !escaped }, end: at }
}

class Parser {
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  expectEnd(): void {
    if (this.#at < this.#tokens.length) throw invalid('A bracket is closed that was not opened')
  }

  /** Clauses up to the end or a closing bracket. */
  clauses(field: string, depth: number): TextQuery {
    if (depth > DEPTH_MAX) throw invalid('Brackets are nested too deeply')
    const clauses: { occurs: Clause['occurs']; query: TextQuery }[] = []
    while (this.#at < this.#tokens.length && !this.#isSign(')')) {
      const joined = clauses.length === 0 ? undefined : this.#conjunction()
      const sign = this.#modifier()
      const query = this.#clause(field, depth)
      const before = clauses.at(-1)
      if (joined === 'and' && before?.occurs === 'should') before.occurs = 'must'
      const occurs = sign ?? (joined === 'and' ? 'must' : 'should')
      clauses.push({ occurs, query })
    }
    const [only] = clauses
    if (only && clauses.length === 1 && only.occurs !== 'never') return only.query
    return { kind: 'clauses', clauses, boost: 1 }
  }

  #conjunction(): 'and' | 'or' | undefined {
    if (this.#takeWord('AND') || this.#takeSign('&&')) return 'and'
    return this.#takeWord('OR') || this.#takeSign('||') ? 'or' : undefined
  }

  #modifier(): Clause['occurs'] | undefined {
    if (this.#takeSign('+')) return 'must'
    return this.#takeSign('-') || this.#takeSign('!') || this.#takeWord('NOT') ? 'never' : undefined
  }

  #clause(field: string, depth: number): TextQuery {
    const named = this.#fieldName()
    if (named === '*') {
      const star = this.#next()
      if (star?.kind === 'word' && star.text === '*')
        return this.#boosted({ kind: 'everything', boost: 1 })
      throw invalid('The only query over all fields is *:*')
    }
    return this.#boosted(this.#primary(named ?? field, depth))
  }

  #fieldName(): string | undefined {
    const token = this.#tokens[this.#at]
    const colon = this.#tokens[this.#at + 1]
    if (token?.kind !== 'word' || colon?.kind !== 'sign' || colon.sign !== ':') return undefined
    this.#at += 2
    return token.text
  }

  #primary(field: string, depth: number): TextQuery {
    const token = this.#next()
    if (token === undefined) throw invalid('The query ends too early')
    if (token.kind === 'quoted') {
      return { kind: 'phrase', field, text: token.text, slop: this.#number('~') ?? 0, boost: 1 }
    }
    if (token.kind === 'word') {
      if (this.#isSign('~')) throw invalid('Fuzzy terms are not offered in $text')
      const isPattern = token.parts.some(part => typeof part !== 'string')
      return isPattern
        ? { kind: 'pattern', field, parts: token.parts, boost: 1 }
        : { kind: 'term', field, text: token.text, boost: 1 }
    }
    if (token.sign === '(') {
      const query = this.clauses(field, depth + 1)
      if (!this.#takeSign(')')) throw invalid('A bracket is not closed')
      return query
    }
    if (token.sign === '[' || token.sign === '{') return this.#range(field, token.sign === '[')
    throw invalid(`Nobody expects ${token.sign} here`)
  }

  #range(field: string, lowIncluded: boolean): TextQuery {
    const low = this.#bound()
    if (!this.#takeWord('TO')) throw invalid('A range needs TO between its ends')
    const high = this.#bound()
    const closing = this.#next()
    const isClosing = closing?.kind === 'sign' && (closing.sign === ']' || closing.sign === '}')
    if (!isClosing) throw invalid('A range has no end')
    const highIncluded = closing.sign === ']'
    return { kind: 'range', field, low, high, lowIncluded, highIncluded, boost: 1 }
  }

  /** `*` leaves the side open; a minus belongs to the number that follows. */
  #bound(): string | undefined {
    const isNegative = this.#takeSign('-')
    const token = this.#next()
    if (token === undefined || token.kind === 'sign') throw invalid('A range needs two ends')
    if (token.kind === 'word' && token.text === '*') return undefined
    return isNegative ? `-${token.text}` : token.text
  }

  #boosted(query: TextQuery): TextQuery {
    const boost = this.#number('^')
    return boost === undefined ? query : { ...query, boost: query.boost * boost }
  }

  #number(sign: string): number | undefined {
    if (!this.#takeSign(sign)) return undefined
    const token = this.#next()
    const number = token?.kind === 'word' ? Number(token.text) : Number.NaN
    if (!(number >= 0) || !Number.isFinite(number)) throw invalid(`${sign} needs a number`)
    return number
  }

  #next(): Token | undefined {
    return this.#tokens[this.#at++]
  }

  #isSign(sign: string): boolean {
    const token = this.#tokens[this.#at]
    return token?.kind === 'sign' && token.sign === sign
  }

  #takeSign(sign: string): boolean {
    const is = this.#isSign(sign)
    if (is) this.#at++
    return is
  }

  #takeWord(text: string): boolean {
    const token = this.#tokens[this.#at]
    const is = token?.kind === 'word' && token.text === text && token.plain
    if (is) this.#at++
    return is
  }
}
