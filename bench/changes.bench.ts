/**
 * What do changes feeds cost? Three questions, each with its goal:
 *
 *   1. a full pass `_changes?include_docs=true`: 133,000 documents a second
 *   2. one write reaches 1,000 listening feeds: 50 ms, median
 *   3. 10,000 idle continuous feeds: 1 GiB of all server processes together
 *
 *   node --import tsx bench/changes.bench.ts [--quick]
 */
import { connect, type Socket } from 'node:net'
import { loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { requestBytes } from './load.ts'
import { type BenchServer, runServer } from './run-server.ts'

const isQuick = process.argv.includes('--quick')
const DOCUMENTS = isQuick ? 20_000 : 100_000
const LISTENERS = 1000
const IDLE_FEEDS = isQuick ? 2000 : 10_000
const MEBIBYTE = 1_048_576

async function main(): Promise<void> {
  const server = await runServer({ workerCount: 2 })
  console.log(`load average ${loadavg()[0]?.toFixed(1)}`)
  try {
    await request(server, 'PUT', '/pass')
    await fill(server, '/pass')
    for (const query of ['include_docs=true', '']) await measurePass(server, query)
    await request(server, 'PUT', '/feeds')
    await measureReach(server)
    await measureIdle(server)
  } finally {
    await server.stop()
  }
}

/** About 500 bytes each. */
async function fill(server: BenchServer, path: string): Promise<void> {
  for (let at = 0; at < DOCUMENTS; at += 1000) {
    const docs = Array.from({ length: 1000 }, (_, index) => ({
      _id: `document-${String(at + index).padStart(8, '0')}`,
      type: 'report',
      number: at + index,
      text: 'x'.repeat(400),
    }))
    await request(server, 'POST', `${path}/_bulk_docs`, JSON.stringify({ docs }))
  }
}

async function measurePass(server: BenchServer, query: string): Promise<void> {
  const rates: number[] = []
  const cpu: number[] = []
  for (let round = 0; round < 5; round++) {
    const cpuBefore = server.cpuMs()
    const startedMs = performance.now()
    await drain(server, `/pass/_changes?${query}`)
    rates.push(DOCUMENTS / ((performance.now() - startedMs) / 1000))
    cpu.push(((server.cpuMs() - cpuBefore) * 1000) / DOCUMENTS)
  }
  const rate = Math.round(median(rates)).toLocaleString()
  console.log(`pass ?${query}: ${rate} documents/s, ${median(cpu).toFixed(1)} us CPU each`)
}

async function measureReach(server: BenchServer): Promise<void> {
  const arrivals: number[] = []
  const feeds = await openFeeds(server, LISTENERS, () => arrivals.push(performance.now()))
  const medians: number[] = []
  const slowest: number[] = []
  for (let round = 0; round < 10; round++) {
    await delay(200)
    arrivals.length = 0
    const startedMs = performance.now()
    await request(server, 'PUT', `/feeds/d${round}`, '{}')
    while (arrivals.length < LISTENERS) await delay(5)
    medians.push(median(arrivals.map(at => at - startedMs)))
    slowest.push(Math.max(...arrivals) - startedMs)
  }
  console.log(
    `one write to ${LISTENERS} feeds: median ${median(medians).toFixed(1)} ms, all ${median(slowest).toFixed(1)} ms`,
  )
  for (const feed of feeds) feed.destroy()
  await delay(500)
}

async function measureIdle(server: BenchServer): Promise<void> {
  const before = server.totalMemoryBytes()
  const feeds = await openFeeds(server, IDLE_FEEDS, () => {})
  await delay(2000)
  const during = server.totalMemoryBytes()
  console.log(
    `${IDLE_FEEDS} idle feeds: ${Math.round(during / MEBIBYTE)} MiB in all, ` +
      `${((during - before) / IDLE_FEEDS / 1024).toFixed(1)} KiB each`,
  )
  for (const feed of feeds) feed.destroy()
}

/** Continuous feeds that wait; `onRow` is called when bytes with a row come in. */
async function openFeeds(
  server: BenchServer,
  count: number,
  onRow: () => void,
): Promise<readonly Socket[]> {
  const path = '/feeds/_changes?feed=continuous&since=now&heartbeat=30000'
  const bytes = requestBytes('GET', path, { Authorization: server.authorization })
  const sockets: Socket[] = []
  for (let at = 0; at < count; at += 100) {
    const some = Array.from({ length: Math.min(100, count - at) }, () => open(server, bytes, onRow))
    sockets.push(...(await Promise.all(some)))
  }
  return sockets
}

function open(server: BenchServer, bytes: Buffer, onRow: () => void): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.port, '127.0.0.1', () => socket.write(bytes))
    socket.on('error', reject)
    socket.once('data', () => {
      resolve(socket)
      socket.on('data', (chunk: Buffer) => {
        if (chunk.includes('"seq"')) onRow()
      })
    })
  })
}

function request(server: BenchServer, method: string, path: string, body?: string): Promise<void> {
  const headers = { Authorization: server.authorization, 'Content-Type': 'application/json' }
  return exchange(server, requestBytes(method, path, { ...headers, Connection: 'close' }, body))
}

const drain = (server: BenchServer, path: string): Promise<void> =>
  exchange(
    server,
    requestBytes('GET', path, { Authorization: server.authorization, Connection: 'close' }),
  )

/** Sends and reads to the end. */
function exchange(server: BenchServer, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let status = ''
    const socket = connect(server.port, '127.0.0.1', () => socket.write(bytes))
    socket.on('data', (chunk: Buffer) => {
      if (status === '') status = chunk.toString('latin1', 9, 12)
    })
    socket.on('error', reject)
    socket.on('close', () => {
      if (status.startsWith('2')) resolve()
      else reject(new Error(`status ${status}`))
    })
  })
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

await main()
