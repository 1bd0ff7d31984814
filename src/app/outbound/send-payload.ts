/** Sends what is pushed to another system: one POST of JSON, with the credentials that the settings name. */
import type { CredentialStore } from '../credentials/credential-store.ts'
import { isText, type JsonObject } from '../documents/document.ts'
import type { Destination } from './outbound-settings.ts'

const TIMEOUT_MS = 10_000

/** Throws, with why, when the other side did not take it. */
export async function sendPayload(
  destination: Destination,
  payload: JsonObject,
  credentials: CredentialStore,
): Promise<void> {
  const response = await fetch(urlOf(destination), {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(await authorizationOf(destination.auth, credentials)),
    },
    body: JSON.stringify(payload),
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`answered ${response.status}`)
}

function urlOf({ baseUrl, path }: Destination): string {
  if (path === '') return baseUrl
  return `${baseUrl.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`
}

async function authorizationOf(
  auth: JsonObject | undefined,
  credentials: CredentialStore,
): Promise<Record<string, string>> {
  if (auth === undefined) return {}
  const type = isText(auth.type) ? auth.type.toLowerCase() : ''
  if (type === 'basic') {
    const password = await secretOf(auth.password_key, credentials)
    const pair = `${isText(auth.username) ? auth.username : ''}:${password}`
    return { Authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
  }
  if (type === 'header') {
    const name = isText(auth.name) ? auth.name : 'Authorization'
    if (name.toLowerCase() !== 'authorization') throw new Error(`cannot set the header ${name}`)
    return { [name]: await secretOf(auth.value_key, credentials) }
  }
  throw new Error(`has an unknown kind of authorization, ${type}`)
}

async function secretOf(key: unknown, credentials: CredentialStore): Promise<string> {
  const secret = isText(key) ? await credentials.get(key) : undefined
  if (secret === undefined) throw new Error(`lacks the credential ${String(key)}`)
  return secret
}
