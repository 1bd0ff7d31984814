/**
 * How fast are views? Builds a design document of four views over 100,000 documents (--quick: 20,000): each word of a
 * record in two forms, as search views of health deployments have it; a hierarchy; `_stats`; a reduce function in
 * JavaScript. Reads documents meanwhile, then asks the views. Goals are multiples of what CouchDB 3.5 did on a two-core
 * machine; on a busy one read the processor time and compare runs of the same pace.
 *
 *   node --import tsx bench/build-view.bench.ts [--quick]
 */
import { loadavg } from 'node:os'
import { requestBytes, runLoad } from './load.ts'
import { machinePace } from './machine-pace.ts'
import { type BenchServer, runServer } from './run-server.ts'

const quick = process.argv.includes('--quick')
const DOCUMENTS = quick ? 20_000 : 100_000
const BULK = 1000
const DURATION_MS = quick ? 2000 : 5000
const WARM_MS = 4000
const CONNECTIONS = 32
const GOALS = { build: 16_400, keyed: 13_230, reduce: 7200, scanMegabytes: 67 }

const WORDS = `anna maria john peter kampala district hospital fever malaria visit follow antenatal
  clinic village nurse child mother weight height danger sign referral treatment stock report
  household immunization delivery pregnancy screening`.split(/\s+/)

const DESIGN = {
  autoupdate: false,
  views: {
    words: {
      map: `function (doc) {
        if (doc.type !== 'data_record') return
        var seen = {}
        var add = function (word) {
          word = word.toLowerCase()
          if (word.length < 3 || seen[word]) return
          seen[word] = true
          emit([word], doc.reported_date)
          emit([doc.form, word], doc.reported_date)
        }
        Object.keys(doc.fields).forEach(function (name) {
          var value = doc.fields[name]
          if (typeof value === 'string') value.split(/\\s+/).forEach(add)
        })
      }`,
    },
    hierarchy: {
      map: `function (doc) {
        var path = []
        for (var place = doc.contact; place; place = place.parent) path.unshift(place._id)
        for (var depth = 0; depth < path.length; depth++) emit(path.slice(0, depth + 1), doc.form)
      }`,
      reduce: '_count',
    },
    stats: {
      map: 'function (doc) { emit([doc.form, doc.fields.month], doc.fields.amount) }',
      reduce: '_stats',
    },
    latest: {
      map: 'function (doc) { emit(doc.contact._id, doc.reported_date) }',
      reduce: `function (keys, values, rereduce) {
        return values.reduce(function (a, b) { return a > b ? a : b })
      }`,
    },
  },
}

let state = 12345
function below(limit: number): number {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0
  return Math.floor((state / 4294967296) * limit)
}
const words = (count: number): string =>
  Array.from({ length: count }, () => `${WORDS[below(WORDS.length)]}${below(200)}`).join(' ')

function makeDocument(n: number): Record<string, unknown> {
  const district = below(10)
  const center = below(20)
  const parent = { _id: `center-${district}-${center}`, parent: { _id: `district-${district}` } }
  return {
    _id: `record-${String(below(1_000_000_000)).padStart(9, '0')}-${n}`,
    type: 'data_record',
    form: `form${below(12)}`,
    reported_date: 1_600_000_000_000 + below(100_000_000_000),
    contact: { _id: `chw-${district}-${center}-${below(10)}`, parent },
    fields: {
      patient_name: words(2),
      notes: words(6),
      place: words(1),
      month: `2024-${1 + below(12)}`,
      amount: below(1000),
    },
  }
}

async function main(): Promise<void> {
  const server = await runServer({ workerCount: 2 })
  try {
    await ask(server, 'PUT', '/bench')
    const ids: string[] = []
    for (let done = 0; done < DOCUMENTS; done += BULK) {
      const docs = Array.from({ length: BULK }, (_, i) => makeDocument(done + i))
      ids.push(...docs.map(doc => doc._id as string))
      await ask(server, 'POST', '/bench/_bulk_docs', JSON.stringify({ docs }))
    }
    await measureBuild(server, ids)
    await measureQueries(server, ids)
  } finally {
    await server.stop()
  }
}

async function measureBuild(server: BenchServer, ids: readonly string[]): Promise<void> {
  // The processes that build are there already in a server that is in use.
  await ask(server, 'PUT', '/warm')
  await ask(server, 'PUT', '/warm/_design/all', JSON.stringify(DESIGN))
  await ask(server, 'PUT', '/warm/one', JSON.stringify(makeDocument(0)))
  await ask(server, 'GET', '/warm/_design/all/_view/stats')
  const idle = await reads(server, ids, DURATION_MS)
  await ask(server, 'PUT', '/bench/_design/all', JSON.stringify(DESIGN))
  const before = await machinePace()
  const cpu = server.cpuMs()
  const startedMs = performance.now()
  let peak = 0
  const watch = setInterval(() => {
    peak = Math.max(peak, server.totalMemoryBytes())
  }, 250)
  const built = ask(server, 'GET', '/bench/_design/all/_view/words?limit=1')
  await built
  clearInterval(watch)
  const seconds = (performance.now() - startedMs) / 1000
  const cpuUs = ((server.cpuMs() - cpu) * 1000) / DOCUMENTS
  await printPace(before)
  const rows = await rowCount(server)
  print('build, documents', DOCUMENTS / seconds, GOALS.build)
  print('build, rows', rows / seconds, undefined)
  console.log(`  ${cpuUs.toFixed(0)} us of processor time a document, all processes`)
  console.log(`  peak memory of all processes ${(peak / 1_048_576).toFixed(0)} MiB`)
  const info = JSON.parse((await ask(server, 'GET', '/bench/_design/all/_info')).toString())
  const { file, active } = info.view_index.sizes
  console.log(
    `  ${(file / rows).toFixed(1)} bytes a row on disk, ${(active / rows).toFixed(1)} live`,
  )
  await measureReadsWhileBuilding(server, ids, idle)
}

/** Another index of the same documents, while they are read. */
async function measureReadsWhileBuilding(
  server: BenchServer,
  ids: readonly string[],
  idle: number,
): Promise<void> {
  const again = { ...DESIGN, options: { local_seq: true } }
  await ask(server, 'PUT', '/bench/_design/again', JSON.stringify(again))
  let isBuilding = true
  const built = ask(server, 'GET', '/bench/_design/again/_view/words?limit=1').finally(() => {
    isBuilding = false
  })
  const worst: number[] = []
  while (isBuilding) worst.push(await reads(server, ids, 500))
  await built
  const busy = worst.sort((a, b) => a - b)[worst.length >> 1] ?? 0
  const ratio = (busy / idle).toFixed(1)
  console.log(`GET p99 idle ${idle} us, while building ${busy} us: ${ratio} times (goal 3)`)
}

async function reads(
  server: BenchServer,
  ids: readonly string[],
  durationMs: number,
): Promise<number> {
  const headers = { Authorization: server.authorization }
  const result = await runLoad({
    port: server.port,
    connectionCount: 4,
    durationMs,
    request: n => requestBytes('GET', `/bench/${ids[(n * 7919) % ids.length]}`, headers),
  })
  return result.latencyUs.p99
}

async function rowCount(server: BenchServer): Promise<number> {
  let rows = 0
  for (const view of Object.keys(DESIGN.views)) {
    const path = `/bench/_design/all/_view/${view}?reduce=false&limit=0`
    rows += JSON.parse((await ask(server, 'GET', path)).toString()).total_rows
  }
  return rows
}

async function measureQueries(server: BenchServer, ids: readonly string[]): Promise<void> {
  const base = '/bench/_design/all/_view'
  // To compare with: what any request costs on this machine at this time.
  await measure(server, 'GET of a document', undefined, n => `/bench/${ids[n % ids.length]}`)
  await measure(server, 'keyed query', GOALS.keyed, n => {
    const word = `${WORDS[n % WORDS.length]}${n % 200}`
    return `${base}/words?key=${encodeURIComponent(JSON.stringify([`form${n % 12}`, word]))}&limit=10`
  })
  await measure(server, 'full reduce', GOALS.reduce, () => `${base}/stats`)
  await measure(server, 'reduce over a range', undefined, n => {
    return `${base}/hierarchy?startkey=["district-${n % 7}"]&endkey=["district-${(n % 7) + 3}"]`
  })
  await measure(server, 'group by form', undefined, () => `${base}/stats?group_level=1`)
  await measure(server, 'reduce in JavaScript', undefined, () => `${base}/latest`)
  const startedMs = performance.now()
  const { length } = await ask(server, 'GET', `${base}/words`)
  const megabytes = length / 1e6
  const perSecond = megabytes / ((performance.now() - startedMs) / 1000)
  print(`scan of ${megabytes.toFixed(0)} MB, MB`, perSecond, GOALS.scanMegabytes)
}

async function measure(
  server: BenchServer,
  label: string,
  goal: number | undefined,
  path: (n: number) => string,
): Promise<void> {
  const headers = { Authorization: server.authorization }
  const load = {
    port: server.port,
    connectionCount: CONNECTIONS,
    request: (n: number) => requestBytes('GET', path(n), headers),
  }
  // Code that has just been loaded is many times slower.
  await runLoad({ ...load, durationMs: WARM_MS })
  const before = goal === undefined ? undefined : await machinePace()
  const cpu = server.cpuMs()
  const result = await runLoad({ ...load, durationMs: DURATION_MS })
  const cpuUs = ((server.cpuMs() - cpu) * 1000) / result.requestCount
  if (before !== undefined) await printPace(before)
  print(label, result.perSecond, goal)
  const statuses = JSON.stringify(result.statuses)
  console.log(`  p50 ${result.latencyUs.p50} us, ${cpuUs.toFixed(0)} us CPU each, ${statuses}`)
}

async function printPace(before: number): Promise<void> {
  const after = await machinePace()
  console.log(`pace of the machine ${before.toFixed(0)} before, ${after.toFixed(0)} after:`)
}

function print(label: string, perSecond: number, goal: number | undefined): void {
  const ratio = goal === undefined ? '' : ` (${(perSecond / goal).toFixed(2)} of the goal)`
  const load = loadavg()[0]?.toFixed(1)
  console.log(`${label.padEnd(24)} ${perSecond.toFixed(0).padStart(8)}/s${ratio}, load ${load}`)
}

async function ask(
  server: BenchServer,
  method: string,
  path: string,
  body?: string,
): Promise<Buffer> {
  const headers = { Authorization: server.authorization, 'Content-Type': 'application/json' }
  const url = `http://127.0.0.1:${server.port}${path}`
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) })
  const bytes = Buffer.from(await response.arrayBuffer())
  if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${bytes}`)
  return bytes
}

await main()
