/**
 * Part of the program inside a sandbox process: what a user function threw, told as JSON text.
 *
 * The text has a `form` and the facts; `thrown-failure.ts` on the other side of the pipe decides what
 * that means for a validation, a show or a filter. Describing never throws, whatever was thrown.
 */
import type { Primordials } from './realm-primordials.ts'

export function makeDescribe(p: Primordials): (thrown: unknown) => string {
  const charsMax = 1_000_000
  const object = (thrown: object): string => {
    const members = thrown as Record<string, unknown>
    if (p.isArray(thrown) && (thrown[0] === 'error' || thrown[0] === 'fatal')) {
      return p.text({ form: thrown[0], error: p.string(thrown[1]), reason: thrown[2] ?? null })
    }
    if (members.error && members.reason) {
      return p.text({ form: 'error', error: p.string(members.error), reason: members.reason })
    }
    if (!p.isError(thrown)) return p.text({ form: 'object', value: thrown })
    const { name, message, stack } = thrown
    return p.text({
      form: 'exception',
      name: p.string(name),
      message: p.string(message),
      stack: p.slice(p.string(stack), 0, 4000),
    })
  }
  const describe = (thrown: unknown): string =>
    typeof thrown === 'object' && thrown !== null
      ? object(thrown)
      : p.text({ form: 'value', value: typeof thrown === 'string' ? thrown : p.string(thrown) })
  return thrown => {
    let text = ''
    try {
      text = describe(thrown)
    } catch {
      text = '{"form":"exception","name":"Error","message":"what was thrown cannot be described"}'
    }
    return text.length <= charsMax
      ? text
      : '{"form":"exception","name":"Error","message":"what was thrown is too large"}'
  }
}

/** One line about a thrown value, for the log. Never throws. */
export function makeBrief(p: Primordials): (thrown: unknown) => string {
  return thrown => {
    try {
      const plain = typeof thrown === 'object' && thrown !== null && !p.isError(thrown)
      return p.slice(plain ? p.text(thrown) : p.string(thrown), 0, 2000)
    } catch {
      return 'a value that cannot be described'
    }
  }
}
