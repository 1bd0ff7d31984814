/**
 * How fast do exports leave, and what do they hold in memory? Reports and contacts come from the seeded generator of the
 * other application benchmarks: 500,000 reports at scale 1. Asked are: all reports, those of one form, those with a word,
 * all contacts, messages (which looks at every document), and all reports for a client that reads slowly.
 *
 *   node --import tsx bench/export.bench.ts [--scale 0.1]
 *
 * Goals: 20,000 reports per second, and no process above 200 MiB for it whatever the client does: told is by how much all
 * processes together grew. On a busy machine read the processor time.
 */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { type Doc, HealthData } from './health-data.ts'
import { runServer } from './run-server.ts'

const at = process.argv.indexOf('--scale')
const SCALE = at < 0 ? 0.1 : Number(process.argv[at + 1])
const BULK = 1000
const MIB = 1024 * 1024

const server = await runServer({
  workerCount: 1,
  ini: '[svc]\napplication = true\n[couchdb]\nos_process_timeout = 60000\n',
})
const base = `http://127.0.0.1:${server.port}`
const headers = { Authorization: server.authorization, Accept: 'application/json' }

async function write(docs: readonly Doc[]): Promise<void> {
  const response = await fetch(`${base}/svc/_bulk_docs`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ docs }),
  })
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`)
  await response.arrayBuffer()
}

async function load(): Promise<number> {
  let count = 0
  let batch: Doc[] = []
  for (const document of new HealthData(SCALE).documents()) {
    batch.push(document)
    if (batch.length < BULK) continue
    await write(batch)
    count += batch.length
    batch = []
  }
  await write(batch)
  return count + batch.length
}

async function open(path: string): Promise<IncomingMessage> {
  const [response] = (await once(
    get(`${base}/api/v2/export/${path}`, { headers }),
    'response',
  )) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`)
  return response
}

/** @param mark what there is one of in each row */
async function exported(name: string, path: string, mark: string): Promise<void> {
  const memoryBefore = server.totalMemoryBytes()
  const cpuBefore = server.cpuMs()
  const start = performance.now()
  const response = await open(path)
  const firstMs = performance.now() - start
  let rowCount = 0
  let byteCount = 0
  let memory = 0
  const watch = setInterval(() => {
    memory = Math.max(memory, server.totalMemoryBytes())
  }, 100)
  for await (const piece of response as AsyncIterable<Buffer>) {
    byteCount += piece.length
    for (let found = piece.indexOf(mark); found >= 0; found = piece.indexOf(mark, found + 1)) {
      rowCount++
    }
  }
  clearInterval(watch)
  memory = Math.max(memory, server.totalMemoryBytes())
  const seconds = (performance.now() - start) / 1000
  const cpu = server.cpuMs() - cpuBefore
  console.log(
    `${name}: ${rowCount} rows, ${(byteCount / MIB).toFixed(1)} MiB in ${seconds.toFixed(2)} s = ` +
      `${Math.round(rowCount / seconds)} rows/s, ${((cpu * 1000) / rowCount).toFixed(1)} µs of ` +
      `processor time a row, first byte after ${firstMs.toFixed(0)} ms, ` +
      `memory grew by ${((memory - memoryBefore) / MIB).toFixed(0)} MiB`,
  )
}

async function readSlowly(seconds: number): Promise<void> {
  const memoryBefore = server.totalMemoryBytes()
  const response = await open('reports')
  const cpuBefore = server.cpuMs()
  let memory = 0
  for (let second = 0; second < seconds; second++) {
    response.read(1024)
    await delay(1000)
    memory = Math.max(memory, server.totalMemoryBytes())
  }
  const cpu = server.cpuMs() - cpuBefore
  response.destroy()
  console.log(
    `a client that reads 1 KiB a second: ${(cpu / seconds).toFixed(0)} ms of processor time a ` +
      `second, memory grew by ${((memory - memoryBefore) / MIB).toFixed(0)} MiB`,
  )
}

try {
  const start = performance.now()
  const count = await load()
  const seconds = (performance.now() - start) / 1000
  const busy = loadavg()[0]?.toFixed(1)
  console.log(`${count} documents written in ${seconds.toFixed(1)} s; load ${busy}`)
  const built = performance.now()
  const warm = await open('reports?filters[date][to]=1')
  for await (const _ of warm);
  console.log(`indexes brought up in ${((performance.now() - built) / 1000).toFixed(1)} s`)
  await exported('all reports', 'reports', '\n')
  await exported('all reports, for people', 'reports?options[humanReadable]=true', '\n')
  await exported('reports of a form', 'reports?filters[forms][selected][0][code]=visit', '\n')
  await exported('reports with a word', 'reports?filters[search]=moraa', '\n')
  await exported('all contacts', 'contacts', '"id":')
  await exported('messages (every document)', 'messages', '\n')
  await readSlowly(5)
} finally {
  await server.stop()
}
