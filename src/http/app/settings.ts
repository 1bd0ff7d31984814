/** `/api/v1/settings`, and the older paths of the same. */

import { isObject } from '../../app/documents/document.ts'
import { DEPRECATED_TRANSITIONS } from '../../app/settings/deprecated-transitions.ts'
import type { MergeMode } from '../../app/settings/merge-settings.ts'
import type { Settings } from '../../app/settings/settings.ts'
import { Failure } from '../../base/errors.ts'
import type { Reply } from '../kit/reply.ts'
import { type AppExchange, jsonText } from './app-exchange.ts'

export const getSettings = ({ context }: AppExchange): Reply => jsonText(textOf(context.settings))

/** Settings are large, often read and seldom changed. */
const TEXTS = new WeakMap<Settings, string>()

function textOf(settings: Settings): string {
  const known = TEXTS.get(settings)
  if (known !== undefined) return known
  const text = JSON.stringify(settings.all)
  TEXTS.set(settings, text)
  return text
}

export async function putSettings(exchange: AppExchange): Promise<Reply> {
  const given = await exchange.jsonBody()
  if (!isObject(given)) {
    throw new Failure('request_invalid', { reason: 'Settings must be a JSON object.' })
  }
  const isWritten = await exchange.application.settings.update(given, modeOf(exchange))
  // The specification and the product call the same thing by two names.
  return exchange.json({ success: true, upgraded: isWritten, updated: isWritten })
}

function modeOf(exchange: AppExchange): MergeMode {
  if (isOn(exchange, 'overwrite')) return 'overwrite'
  return isOn(exchange, 'replace') ? 'replace' : 'merge'
}

/** Tools send `1` as well as `true`. */
function isOn(exchange: AppExchange, name: string): boolean {
  const value = [exchange.param(name)].flat().at(-1)
  return value !== undefined && !['', 'false', '0'].includes(value)
}

/** A path into the settings may follow, `a.b` or `a/b`. */
export function getLegacySettings(exchange: AppExchange): Reply {
  const names = exchange.params.rest.flatMap(segment => segment.split('.'))
  let settings: unknown = exchange.context.settings.all
  for (const name of names) {
    const member: unknown =
      isObject(settings) && Object.hasOwn(settings, name) ? settings[name] : undefined
    settings = member ?? {}
  }
  return exchange.json({ settings, meta: {}, schema: {} })
}

export const getDeprecatedTransitions = (exchange: AppExchange): Reply =>
  exchange.json(DEPRECATED_TRANSITIONS)

/** What this server is; also the answer to those who only want to know that it is there. */
export const getInfo = (exchange: AppExchange): Reply =>
  exchange.json({ version: exchange.application.version })
