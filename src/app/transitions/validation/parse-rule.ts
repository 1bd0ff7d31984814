/**
 * The language of validation rules: functions joined by `&&`, `||`, `!`, `? :` and parentheses. A function without
 * arguments needs no parentheses; arguments are numbers, or texts in quotes. Names are told in any case. Pure.
 */
export type Rule =
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly string[] }
  | { readonly kind: 'not'; readonly of: Rule }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Rule[] }
  | { readonly kind: 'choice'; readonly test: Rule; readonly yes: Rule; readonly no: Rule }

export class RuleError extends Error {
  override readonly name = 'RuleError'
}

const DEPTH_MAX = 50

/** Throws a RuleError. */
export function parseRule(text: string): Rule {
  const parser = new Parser(tokensOf(text))
  const rule = parser.choice(0)
  parser.end()
  return rule
}

interface Token {
  readonly kind: 'name' | 'text' | 'sign'
  readonly text: string
}

const TOKEN =
  /\s*(?:(&&|\|\||[!?:(),])|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(-?\d+(?:\.\d+)?(?![\w.]))|([A-Za-z_][\w.]*))/y

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  const source = text.trimEnd()
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < source.length) {
    const at = TOKEN.lastIndex
    const found = TOKEN.exec(source)
    if (found === null) throw new RuleError(`cannot be read from '${source.slice(at, at + 20)}' on`)
    const [, sign, double, single, number, name] = found
    const quoted = double ?? single
    if (sign !== undefined) tokens.push({ kind: 'sign', text: sign })
    else if (name !== undefined) tokens.push({ kind: 'name', text: name })
    else
      tokens.push({
        kind: 'text',
        text: quoted === undefined ? (number as string) : unquoted(quoted),
      })
  }
  return tokens
}

/** A backslash is for quotes alone: patterns are full of them. */
const unquoted = (text: string): string => text.replace(/\\(["'])/g, '$1')

class Parser {
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  choice(depth: number): Rule {
    if (depth > DEPTH_MAX) throw new RuleError('is nested too deeply')
    const test = this.#or(depth)
    if (!this.#take('?')) return test
    const yes = this.choice(depth + 1)
    this.#expect(':')
    return { kind: 'choice', test, yes, no: this.choice(depth + 1) }
  }

  end(): void {
    const token = this.#tokens[this.#at]
    if (token !== undefined) throw new RuleError(`has '${token.text}' where it should end`)
  }

  #or(depth: number): Rule {
    const parts = [this.#and(depth)]
    while (this.#take('||')) parts.push(this.#and(depth))
    return parts.length === 1 ? (parts[0] as Rule) : { kind: 'or', parts }
  }

  #and(depth: number): Rule {
    const parts = [this.#single(depth)]
    while (this.#take('&&')) parts.push(this.#single(depth))
    return parts.length === 1 ? (parts[0] as Rule) : { kind: 'and', parts }
  }

  #single(depth: number): Rule {
    if (depth > DEPTH_MAX) throw new RuleError('is nested too deeply')
    if (this.#take('!')) return { kind: 'not', of: this.#single(depth + 1) }
    if (this.#take('(')) {
      const inner = this.choice(depth + 1)
      this.#expect(')')
      return inner
    }
    const token = this.#tokens[this.#at++]
    if (token?.kind !== 'name') throw new RuleError(`wants a function, not '${token?.text ?? ''}'`)
    return { kind: 'call', name: token.text.toLowerCase(), args: this.#args() }
  }

  #args(): string[] {
    const args: string[] = []
    if (!this.#take('(') || this.#take(')')) return args
    do {
      const token = this.#tokens[this.#at++]
      if (token === undefined || token.kind === 'sign') throw new RuleError('lacks an argument')
      args.push(token.text)
    } while (this.#take(','))
    this.#expect(')')
    return args
  }

  #take(sign: string): boolean {
    const token = this.#tokens[this.#at]
    if (token?.kind !== 'sign' || token.text !== sign) return false
    this.#at++
    return true
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) throw new RuleError(`lacks '${sign}'`)
  }
}
