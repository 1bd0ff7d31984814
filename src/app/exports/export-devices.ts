/** The devices of all users: of each the latest that its telemetry told, in the order of users and devices. */
import { isObject, type JsonObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { browserOf } from './browser-name.ts'

/** JSON objects in batches; what is not known is left out of them. */
export async function* exportDevices(
  usersMeta: DocumentDatabase,
  signal?: AbortSignal,
): AsyncGenerator<readonly string[], void, undefined> {
  const query = { reduce: true, group: true }
  for await (const rows of usersMeta.rows('users-meta', 'device_by_user', query, signal)) {
    yield rows.map(({ key, value }) => {
      const [user, deviceId] = key as readonly unknown[]
      return JSON.stringify({ user, deviceId, ...(isObject(value) ? deviceOf(value) : {}) })
    })
  }
}

function deviceOf({ date, device }: JsonObject): JsonObject {
  const { userAgent, versions, storage } = isObject(device) ? device : {}
  const { apk, android, app, settings } = isObject(versions) ? versions : {}
  const { free, total } = isObject(storage) ? storage : {}
  return {
    date,
    browser: browserOf(userAgent),
    apk,
    android,
    app,
    // What the product calls the same.
    cht: app,
    settings,
    storageFree: free,
    storageTotal: total,
  }
}
