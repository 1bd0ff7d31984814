/**
 * A small load generator over raw sockets: keep-alive connections, one request at a time on each.
 *
 * Costs little itself, because it looks only for the end of each answer. Tells requests per second and
 * latency percentiles. Reused by the benchmarks of HTTP; no correctness is checked beyond the status.
 */
import { connect, type Socket } from 'node:net'

export interface LoadOptions {
  readonly port: number
  readonly host?: string
  readonly connectionCount: number
  readonly durationMs: number
  /** The bytes of a request, or a function of the running number of the request. */
  readonly request: Buffer | ((n: number) => Buffer)
}

export interface LoadResult {
  readonly requestCount: number
  readonly perSecond: number
  readonly latencyUs: { readonly p50: number; readonly p90: number; readonly p99: number }
  /** Status -> how many. */
  readonly statuses: Readonly<Record<string, number>>
}

/** A whole request as bytes. */
export function requestBytes(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string | Buffer,
): Buffer {
  const content = body === undefined ? undefined : Buffer.from(body)
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: localhost']
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  if (content !== undefined) lines.push(`Content-Length: ${content.length}`)
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  return content === undefined ? head : Buffer.concat([head, content])
}

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { connectionCount, durationMs } = options
  const latencies = new LatencyHistogram()
  const statuses: Record<string, number> = {}
  const startedMs = performance.now()
  const run = { endMs: startedMs + durationMs, sentCount: 0 }
  const all = Array.from({ length: connectionCount }, () =>
    driveConnection(options, run, (status, us) => {
      statuses[status] = (statuses[status] ?? 0) + 1
      latencies.add(us)
    }),
  )
  await Promise.all(all)
  const seconds = (performance.now() - startedMs) / 1000
  return {
    requestCount: latencies.count,
    perSecond: latencies.count / seconds,
    latencyUs: {
      p50: latencies.percentile(50),
      p90: latencies.percentile(90),
      p99: latencies.percentile(99),
    },
    statuses,
  }
}

function driveConnection(
  options: LoadOptions,
  run: { endMs: number; sentCount: number },
  onAnswer: (status: string, us: number) => void,
): Promise<void> {
  const { request } = options
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ port: options.port, host: options.host ?? '127.0.0.1' })
    socket.setNoDelay(true)
    let sentMs = 0
    let received: Buffer | undefined
    const send = (): void => {
      sentMs = performance.now()
      socket.write(typeof request === 'function' ? request(run.sentCount++) : request)
    }
    socket
      .on('connect', send)
      .on('error', reject)
      .on('close', () => resolve())
    socket.on('data', chunk => {
      received = received === undefined ? chunk : Buffer.concat([received, chunk])
      const status = completeStatus(received)
      if (status === undefined) return
      received = undefined
      const nowMs = performance.now()
      onAnswer(status, (nowMs - sentMs) * 1000)
      if (nowMs < run.endMs) send()
      else socket.destroy()
    })
  })
}

/** The status of an answer that is there to its end, else undefined. */
function completeStatus(bytes: Buffer): string | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const head = bytes.toString('latin1', 0, headEnd)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  const isComplete =
    length === undefined
      ? bytes.subarray(-5).equals(LAST_CHUNK)
      : bytes.length >= headEnd + 4 + Number(length)
  return isComplete ? head.slice(9, 12) : undefined
}

const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/** Buckets 2 % wide: bounded memory however long the run. */
class LatencyHistogram {
  readonly #buckets = new Float64Array(2000)
  count = 0

  add(us: number): void {
    this.count++
    const bucket = Math.min(1999, Math.max(0, Math.round(Math.log(Math.max(us, 1)) / LOG_STEP)))
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1
  }

  percentile(percent: number): number {
    let left = (this.count * percent) / 100
    for (const [bucket, count] of this.#buckets.entries()) {
      left -= count
      if (left <= 0) return Math.round(Math.exp(bucket * LOG_STEP))
    }
    return 0
  }
}

const LOG_STEP = Math.log(1.02)
