/**
 * Asks the builds server, which is a database like any other: the build's document with all attachments inline, in one
 * request. A server that is away is asked again a few times; what it says is then final.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Failure, isFailure } from '../../base/errors.ts'
import { APPLICATION_NAMES } from '../../base/product-names.ts'
import { type BuildName, buildId } from './build.ts'

const TIMEOUT_MS = 60_000
const BYTES_MAX = 64 * 1024 * 1024
const ATTEMPTS_MAX = 3
const RETRY_MS = 500

export async function fetchBuild(
  buildsUrl: string,
  build: BuildName,
  signal: AbortSignal,
): Promise<unknown> {
  if (buildsUrl === '') throw unusable('no builds server is configured ([svc] builds_url)')
  for (let attempt = 1; ; attempt++) {
    try {
      return await askByAnyName(buildsUrl, build, signal)
    } catch (thrown) {
      signal.throwIfAborted()
      if (isFailure(thrown) || attempt === ATTEMPTS_MAX) throw asFailure(thrown)
      await delay(RETRY_MS * attempt, undefined, { signal })
    }
  }
}

/** A builds server knows one name of the product, and who asks for a build need not know which. */
async function askByAnyName(
  buildsUrl: string,
  build: BuildName,
  signal: AbortSignal,
): Promise<unknown> {
  const others = APPLICATION_NAMES.map(name => ({ ...build, namespace: name, application: name }))
  for (const id of new Set([build, ...others].map(buildId))) {
    const found = await ask(buildsUrl, id, signal)
    if (found !== undefined) return found
  }
  throw unusable(`the builds server has no ${buildId(build)}`)
}

/** Undefined where there is none. */
async function ask(buildsUrl: string, id: string, signal: AbortSignal): Promise<unknown> {
  const base = new URL(buildsUrl)
  const { username, password } = base
  const path = `${base.pathname.replace(/\/+$/, '')}/${encodeURIComponent(id)}?attachments=true`
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)
  const response = await fetch(new URL(path, base.origin), {
    headers: {
      Accept: 'application/json',
      ...(username === '' ? {} : { Authorization: `Basic ${login.toString('base64')}` }),
    },
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  })
  if (response.status === 404) {
    await response.body?.cancel()
    return undefined
  }
  if (response.status >= 500) throw new Error(`it answered ${response.status}`)
  if (response.status !== 200) throw unusable(`the builds server answered ${response.status}`)
  return JSON.parse(await textOf(response)) as unknown
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += (chunk as Uint8Array).length
    if (length > BYTES_MAX) throw unusable('the build is too large')
    chunks.push(chunk as Uint8Array)
  }
  return Buffer.concat(chunks).toString()
}

function asFailure(thrown: unknown): Failure {
  if (isFailure(thrown)) return thrown
  const { cause, message } = thrown as Error & { cause?: { code?: string } }
  return unusable(`the builds server cannot be asked (${cause?.code ?? message})`, thrown)
}

const unusable = (reason: string, cause?: unknown): Failure =>
  new Failure('service_unavailable', { reason }, cause)
