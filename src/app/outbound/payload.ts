/** What is sent of a document, and the mark by which the same content is known again. */
import { createHash } from 'node:crypto'
import { isObject, type JsonObject } from '../documents/document.ts'
import type { Expressions } from '../transitions/expressions.ts'
import type { Mapped, OutboundPush } from './outbound-settings.ts'

/** Throws, with what is missing, where something is not there that must be. */
export async function payloadOf(
  push: OutboundPush,
  document: JsonObject,
  expressions: Expressions,
): Promise<JsonObject> {
  const asked = push.mapping.filter(each => each.expression !== undefined)
  const values = await expressions.values(
    asked.map(each => ({ source: each.expression as string, names: { doc: document } })),
  )
  const payload: Record<string, unknown> = {}
  for (const each of push.mapping) {
    const value = each.expression === undefined ? at(document, each) : values[asked.indexOf(each)]
    if (value !== undefined && value !== null) put(payload, each.to, value)
    else if (!each.isOptional) {
      throw new Error(`${push.name} has no value for ${each.to} (${each.path ?? each.expression})`)
    }
  }
  return payload
}

/** SHA-256 of the JSON with members in order. */
export const hashOf = (payload: JsonObject): string =>
  createHash('sha256')
    .update(JSON.stringify(ordered(payload)))
    .digest('hex')

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (!isObject(value)) return value
  const names = Object.keys(value).sort()
  return Object.fromEntries(names.map(name => [name, ordered(value[name])]))
}

/** `doc.fields.x[0]`, with or without the `doc` in front. */
function at(document: JsonObject, { path = '' }: Mapped): unknown {
  const names = path.split(/[.[\]]+/).filter(name => name !== '')
  if (names[0] === 'doc') names.shift()
  return names.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Record<string, unknown>)[name]
        : undefined,
    document,
  )
}

function put(payload: Record<string, unknown>, path: string, value: unknown): void {
  const names = path.split('.')
  const last = names.pop() as string
  let holder = payload
  for (const name of names) {
    const next = Object.hasOwn(holder, name) && isObject(holder[name]) ? holder[name] : {}
    // An own member whatever its name.
    Object.defineProperty(holder, name, {
      value: next,
      enumerable: true,
      writable: true,
      configurable: true,
    })
    holder = next as Record<string, unknown>
  }
  Object.defineProperty(holder, last, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  })
}
