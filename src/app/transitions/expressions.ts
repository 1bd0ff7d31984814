/**
 * JavaScript that people write into the settings: conditions, values to push, whether a report counts. It runs in the
 * sandbox, where it can reach nothing but what it is given.
 *
 * What throws, loops or does not compile has no value: it is told in the log, and the record goes on without it. A
 * sandbox that cannot be had at all is a failure of ours and thrown.
 */
import { isFailure } from '../../base/errors.ts'
import type { Sandbox } from '../../core/sandbox/sandbox.ts'
import type { JsonObject } from '../documents/document.ts'

export interface Expression {
  /** An expression that may name the members of `names`. */
  readonly source: string
  readonly names: JsonObject
}

export interface ExpressionParts {
  readonly sandbox: () => Sandbox
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void
}

/** One function for all expressions, so that a single warm process serves them. */
const EVALUATE = `function (input) {
  var names = Object.keys(input.names).filter(function (name) {
    return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name);
  });
  var values = names.map(function (name) { return input.names[name]; });
  try {
    var body = 'return (' + input.source + '\\n);';
    var evaluate = Function.apply(null, names.concat([body]));
    var value = evaluate.apply(null, values);
    emit('value', value === undefined ? null : value);
  } catch (thrown) {
    emit('thrown', String(thrown));
  }
}`

const GROUP = { databaseKey: 'settings', key: 'expressions-1', maps: [EVALUATE], reduces: [] }

export class Expressions {
  readonly #parts: ExpressionParts

  constructor(parts: ExpressionParts) {
    this.#parts = parts
  }

  async isTrue(expression: Expression): Promise<boolean> {
    return Boolean(await this.value(expression))
  }

  /** Undefined where it has none. */
  async value(expression: Expression): Promise<unknown> {
    const [value] = await this.values([expression])
    return value
  }

  /** Of several at once. */
  async values(expressions: readonly Expression[]): Promise<unknown[]> {
    const inputs = expressions.map(expression => Buffer.from(JSON.stringify(expression)))
    try {
      return await this.#evaluate(expressions, inputs)
    } catch (thrown) {
      const isTheirs = isFailure(thrown, 'sandbox_timeout') || isFailure(thrown, 'sandbox_crashed')
      if (!isTheirs) throw thrown
      if (expressions.length > 1) return this.#oneByOne(expressions)
      this.#warn(expressions[0], String(thrown))
      return [undefined]
    }
  }

  async #oneByOne(expressions: readonly Expression[]): Promise<unknown[]> {
    const values: unknown[] = []
    for (const expression of expressions) values.push(await this.value(expression))
    return values
  }

  async #evaluate(
    expressions: readonly Expression[],
    inputs: readonly Buffer[],
  ): Promise<unknown[]> {
    const batch = await this.#parts.sandbox().mapBatch(GROUP, inputs)
    const values = new Array<unknown>(expressions.length).fill(undefined)
    batch.forEachRow(({ document, start, keyEnd, valueEnd }) => {
      const key = batch.bytes.toString('utf8', start, keyEnd)
      const value: unknown = JSON.parse(batch.bytes.toString('utf8', keyEnd + 1, valueEnd))
      if (key === '"value"') values[document] = value ?? undefined
      else this.#warn(expressions[document], value)
    })
    for (const { document, message } of batch.throws) this.#warn(expressions[document], message)
    return values
  }

  #warn(expression: Expression | undefined, reason: unknown): void {
    const source = expression?.source.slice(0, 200)
    this.#parts.warn('an expression of the settings failed', { expression: source, reason })
  }
}
