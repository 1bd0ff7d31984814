/**
 * Part of the program inside a sandbox process: map and reduce over a batch, one item per step.
 *
 * A step answers text. A text that begins with `!` ends the whole request with the described error;
 * otherwise see `reply-text.ts` for the grammar. A throw costs the document its rows in that view only.
 */
import type { UserFunction } from './realm-compile.ts'
import type { Output } from './realm-output.ts'
import type { Primordials } from './realm-primordials.ts'

export type Step = (index: number) => string

export interface ViewTools {
  readonly p: Primordials
  readonly output: Output
  readonly brief: (thrown: unknown) => string
  readonly describe: (thrown: unknown) => string
  readonly deepFreeze: (value: unknown) => void
}

/** The description of a throw that must end the whole request, or '' for an ordinary one. */
export function fatalText(tools: ViewTools, thrown: unknown): string {
  if (thrown === 'fatal_error') {
    const reason = "function raised 'fatal_error'"
    return tools.p.text({ form: 'error', error: 'map_runtime_error', reason })
  }
  return tools.p.isArray(thrown) && thrown[0] === 'fatal' ? tools.describe(thrown) : ''
}

export function makeMapStep(tools: ViewTools, maps: UserFunction[], docs: unknown[]): Step {
  const { p, output, brief, deepFreeze } = tools
  const one = (map: UserFunction, doc: unknown): string => {
    output.clearRows()
    try {
      map(doc)
      return `${output.rows()}\x1d`
    } catch (thrown) {
      const fatal = fatalText(tools, thrown)
      return fatal === '' ? `\x15${p.text(brief(thrown))}\x1d` : `!${fatal}`
    }
  }
  return index => {
    const doc = docs[index]
    docs[index] = null
    deepFreeze(doc)
    let all = ''
    for (let i = 0; i < maps.length; i++) {
      const piece = one(maps[i] as UserFunction, doc)
      if (piece[0] === '!') return piece
      all += piece
    }
    return all
  }
}

/** A group is `[function, size of the input in characters, keys or null, values]`. */
export function makeReduceStep(
  tools: ViewTools,
  reduces: UserFunction[],
  body: { limit: string; groups: [number, number, unknown, unknown][] },
): Step {
  const { p, output, brief } = tools
  const overflow = (inputSize: number, outputSize: number): string => {
    if (body.limit === 'off' || outputSize <= 4096 || outputSize * 2 <= inputSize) return ''
    const sizes = `input size: ${inputSize} output size: ${outputSize}`
    return `Reduce output must shrink more rapidly: ${sizes}`
  }
  return index => {
    const group = body.groups[index] as [number, number, unknown, unknown]
    const reduce = reduces[group[0]] as UserFunction
    let result = ''
    try {
      result = p.text(reduce(group[2], group[3], group[2] === null))
    } catch (thrown) {
      const fatal = fatalText(tools, thrown)
      if (fatal !== '') return `!${fatal}`
      output.log(`reduce raised exception ${brief(thrown)}`)
      return 'null\x1e'
    }
    const reason = overflow(group[1], result.length)
    if (reason === '') return `${result}\x1e`
    output.log(reason)
    if (body.limit === 'log') return `${result}\x1e`
    return `\x15${p.text({ error: 'reduce_overflow_error', reason })}\x1e`
  }
}
