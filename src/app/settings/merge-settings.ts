/** What becomes of the settings when new ones come in. Pure; nothing given is changed. */
import { isObject, type JsonObject } from '../documents/document.ts'
import { DEFAULT_PERMISSIONS } from './default-settings.ts'

/**
 * `merge` goes into objects, key by key; `replace` exchanges the top-level members that are given; `overwrite` keeps
 * nothing of what was.
 */
export type MergeMode = 'merge' | 'replace' | 'overwrite'

export function mergeSettings(current: JsonObject, given: JsonObject, mode: MergeMode): JsonObject {
  const merged =
    mode === 'overwrite' ? given : mode === 'replace' ? join(current, given) : deep(current, given)
  return withDefaultPermissions(merged)
}

/** A permission can be taken from everybody, but none of those that the application knows can be removed. */
function withDefaultPermissions(settings: JsonObject): JsonObject {
  const own = isObject(settings.permissions) ? settings.permissions : {}
  const missing = Object.entries(DEFAULT_PERMISSIONS).filter(([name]) => !Object.hasOwn(own, name))
  if (missing.length === 0) return settings
  return join(settings, { permissions: join(own, Object.fromEntries(missing)) })
}

function deep(current: unknown, given: JsonObject): JsonObject {
  if (!isObject(current)) return given
  const entries = Object.entries(given).map(([name, value]) => {
    const before = Object.hasOwn(current, name) ? current[name] : undefined
    return [name, isObject(value) && isObject(before) ? deep(before, value) : value] as const
  })
  return join(current, Object.fromEntries(entries))
}

/** As spreading does, so a member called `__proto__` is a member like any other. */
const join = (a: JsonObject, b: JsonObject): JsonObject => ({ ...a, ...b })
