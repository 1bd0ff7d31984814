/**
 * Texts with places to fill in, in the language of Mustache: `{{name}}`, `{{a.b}}`, sections `{{#name}}…{{/name}}` for
 * what is there, for each of a list or through a function, `{{^name}}` for what is not, comments `{{! }}`. Nothing is
 * escaped: the texts are messages, not pages. There are no partials and no other delimiters.
 *
 * Never fails: a section that is not closed ends with the text, a name that nothing has is empty. Output is bounded.
 */
export type TemplateFunction = (text: string, render: (text: string) => string) => string

interface Section {
  readonly name: string
  readonly isInverted: boolean
  readonly parts: readonly Part[]
  /** As it is written, for functions. */
  readonly source: string
}

type Part = string | { readonly variable: string } | Section

const OUTPUT_LENGTH_MAX = 100_000

/** @param functions what sections may be called, whatever the context has by the same names */
export function renderTemplate(
  template: string,
  context: unknown,
  functions: Readonly<Record<string, TemplateFunction>> = {},
): string {
  return new Rendering(functions).render(parseTemplate(template), [context])
}

class Rendering {
  readonly #functions: Readonly<Record<string, TemplateFunction>>
  #length = 0

  constructor(functions: Readonly<Record<string, TemplateFunction>>) {
    this.#functions = functions
  }

  render(parts: readonly Part[], stack: readonly unknown[]): string {
    let text = ''
    for (const part of parts) {
      if (this.#length > OUTPUT_LENGTH_MAX) break
      const piece = this.#renderPart(part, stack)
      text += piece
      if (typeof part === 'string' || 'variable' in part) this.#length += piece.length
    }
    return text
  }

  #renderPart(part: Part, stack: readonly unknown[]): string {
    if (typeof part === 'string') return part
    if ('variable' in part) return shown(lookUp(part.variable, stack))
    const value = lookUp(part.name, stack)
    if (part.isInverted) return isThere(value) ? '' : this.render(part.parts, stack)
    if (Object.hasOwn(this.#functions, part.name)) {
      const within = (text: string): string => this.render(parseTemplate(text), stack)
      return this.#functions[part.name]?.(part.source, within) ?? ''
    }
    if (!isThere(value)) return ''
    const items = Array.isArray(value) ? value : [value]
    return items.map(item => this.render(part.parts, [...stack, item])).join('')
  }
}

const isThere = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : Boolean(value) || value === 0

function shown(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The innermost that has the first word of the name decides. */
function lookUp(name: string, stack: readonly unknown[]): unknown {
  if (name === '.') return stack.at(-1)
  const [first = '', ...rest] = name.split('.')
  const holder = stack.findLast(item => hasMember(item, first))
  return rest.reduce(memberOf, memberOf(holder, first))
}

const hasMember = (value: unknown, name: string): boolean =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)

const memberOf = (value: unknown, name: string): unknown =>
  hasMember(value, name) ? (value as Record<string, unknown>)[name] : undefined

const TAG = /\{\{\{([^{}]*)\}\}\}|\{\{([#^/&!>]?)([^{}]*)\}\}/g

interface OpenSection {
  readonly name: string
  readonly isInverted: boolean
  readonly parts: Part[]
  readonly start: number
}

function parseTemplate(template: string): readonly Part[] {
  const root: OpenSection = { name: '', isInverted: false, parts: [], start: 0 }
  const open = [root]
  const innermost = (): OpenSection => open.at(-1) as OpenSection
  const close = (end: number): void => {
    const { name, isInverted, parts, start } = open.pop() as OpenSection
    innermost().parts.push({ name, isInverted, parts, source: template.slice(start, end) })
  }
  let at = 0
  for (const found of template.matchAll(TAG)) {
    const [whole, bare, sign, rest = ''] = found
    const name = (bare ?? rest).trim()
    if (found.index > at) innermost().parts.push(template.slice(at, found.index))
    at = found.index + whole.length
    if (sign === '#' || sign === '^') {
      open.push({ name, isInverted: sign === '^', parts: [], start: at })
    } else if (sign === '/') {
      if (open.length > 1 && innermost().name === name) close(found.index)
    } else if (sign !== '!' && sign !== '>') innermost().parts.push({ variable: name })
  }
  if (at < template.length) innermost().parts.push(template.slice(at))
  while (open.length > 1) close(template.length)
  return root.parts
}
