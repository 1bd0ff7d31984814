/**
 * Pushes to other systems as the settings have them: which documents, what of them, where to. Read once for a settings
 * snapshot; a push that is not written right is left out, and told when its turn comes to nobody.
 */
import { isObject, isText, type JsonObject } from '../documents/document.ts'
import type { Settings } from '../settings/settings.ts'

export interface OutboundPush {
  readonly name: string
  /** An expression over the whole document. */
  readonly relevantTo: string
  /** Path in what is sent -> where it comes from. */
  readonly mapping: readonly Mapped[]
  readonly destination: Destination
  /** When it may be made; at any time without. */
  readonly cron: string | undefined
}

export interface Mapped {
  readonly to: string
  /** `doc.…`. */
  readonly path?: string
  readonly expression?: string
  readonly isOptional: boolean
}

export interface Destination {
  readonly baseUrl: string
  readonly path: string
  readonly auth: JsonObject | undefined
}

const made = new WeakMap<Settings, readonly OutboundPush[]>()

export function outboundPushes(settings: Settings): readonly OutboundPush[] {
  const known = made.get(settings)
  if (known !== undefined) return known
  const { outbound } = settings.all
  const pushes = Object.entries(isObject(outbound) ? outbound : {}).flatMap(([name, push]) =>
    isObject(push) ? pushOf(name, push) : [],
  )
  made.set(settings, pushes)
  return pushes
}

function pushOf(name: string, push: JsonObject): OutboundPush[] {
  const { relevant_to: relevantTo, destination, mapping, cron } = push
  if (!isText(relevantTo) || !isObject(destination) || !isObject(mapping)) return []
  if (!isText(destination.base_url)) return []
  return [
    {
      name,
      relevantTo,
      mapping: Object.entries(mapping).flatMap(([to, from]) => mappedOf(to, from)),
      destination: {
        baseUrl: destination.base_url,
        path: isText(destination.path) ? destination.path : '',
        auth: isObject(destination.auth) ? destination.auth : undefined,
      },
      cron: isText(cron) ? cron : undefined,
    },
  ]
}

function mappedOf(to: string, from: unknown): Mapped[] {
  if (isText(from)) return [{ to, path: from, isOptional: false }]
  if (!isObject(from)) return []
  const isOptional = Boolean(from.optional)
  if (isText(from.expr)) return [{ to, expression: from.expr, isOptional }]
  return isText(from.path) ? [{ to, path: from.path, isOptional }] : []
}
