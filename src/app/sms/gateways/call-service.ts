/**
 * One HTTP call to a message service: bounded in time and in what is read of the answer. A service that cannot be reached
 * or answers nonsense is an answer without status.
 */
import { isObject, type JsonObject } from '../../documents/document.ts'

export interface ServiceAnswer {
  /** 0 when there was none. */
  readonly status: number
  /** The body where it is a JSON object, else empty. */
  readonly json: JsonObject
}

export interface ServiceCall {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

const TIMEOUT_MS = 30_000
const ANSWER_BYTES_MAX = 1024 * 1024
const NO_ANSWER: ServiceAnswer = { status: 0, json: {} }

export async function callService(call: ServiceCall, signal: AbortSignal): Promise<ServiceAnswer> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await fetch(call.url, {
      method: call.method,
      headers: call.headers,
      redirect: 'error',
      signal: AbortSignal.any([signal, timeout]),
      ...(call.body === undefined ? {} : { body: call.body }),
    })
    return { status: response.status, json: parsed(await readBounded(response)) }
  } catch {
    // Not reached, cut off, too slow, too long: the message waits for the next time, which is what callers do then.
    return NO_ANSWER
  }
}

async function readBounded(response: Response): Promise<Buffer> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of response.body ?? []) {
    const bytes = Buffer.from(piece as Uint8Array)
    length += bytes.length
    if (length > ANSWER_BYTES_MAX) throw new Error('the answer is too long')
    pieces.push(bytes)
  }
  return Buffer.concat(pieces)
}

function parsed(bytes: Buffer): JsonObject {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return isObject(value) ? value : {}
  } catch {
    // Services send pages of HTML when they are not well.
    return {}
  }
}

/** Works through a list with a few calls at a time; stops when the signal fires. */
export async function callEach<Item, Result>(
  items: readonly Item[],
  signal: AbortSignal,
  call: (item: Item) => Promise<Result | undefined>,
): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (next < items.length && !signal.aborted) {
      const result = await call(items[next++] as Item)
      if (result !== undefined) results.push(result)
    }
  }
  await Promise.all(Array.from({ length: CALLS_MAX }, work))
  return results
}

const CALLS_MAX = 5
