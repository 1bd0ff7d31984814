/**
 * Memory with thousands of small databases: each is made, written to and read over HTTP, then all are listed with their
 * sizes. Goal: 5,000 within 300 MiB in a worker. `npm run bench -- many-databases [--quick]`
 */
import { requestBytes, runLoad } from './load.ts'
import { runServer } from './run-server.ts'

const COUNT = process.argv.includes('--quick') ? 500 : 5000
const CONNECTIONS = 8

const server = await runServer({ workerCount: 1, ini: '[svc]\napplication = false\n' })
const headers = { Authorization: server.authorization, 'Content-Type': 'application/json' }
const report = (what: string, value: number, unit: string): void =>
  console.log(`| ${what} | ${value.toFixed(1)} | ${unit} |`)
const memory = (when: string): void => {
  report(`memory of the worker, ${when}`, server.memoryBytes() / 2 ** 20, 'MiB')
}

/** One request for each database, a few at a time. */
async function forEach(what: string, request: (name: string) => Buffer): Promise<void> {
  const startMs = performance.now()
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < COUNT) {
      const name = `small-${next++}`
      const load = { port: server.port, connectionCount: 1, durationMs: 0, request: request(name) }
      const { statuses } = await runLoad(load)
      const [status] = Object.keys(statuses)
      if (!status?.startsWith('20')) throw new Error(`${what}: status ${status}`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, lane))
  report(what, (performance.now() - startMs) / COUNT, 'ms each')
  memory(`after "${what}"`)
}

try {
  memory('idle')
  await forEach(`make ${COUNT} databases`, name => requestBytes('PUT', `/${name}`, headers))
  await forEach('write a document to each', name =>
    requestBytes('PUT', `/${name}/doc`, headers, '{"kind":"small","value":1}'),
  )
  await forEach('read it', name => requestBytes('GET', `/${name}/doc`, headers))
  await forEach('ask about each', name => requestBytes('GET', `/${name}`, headers))
  const startMs = performance.now()
  const url = `http://127.0.0.1:${server.port}`
  const listed = await fetch(`${url}/_all_dbs`, { headers })
  const names = ((await listed.json()) as string[]).filter(name => name.startsWith('small-'))
  report('list them', performance.now() - startMs, 'ms')
  if (names.length !== COUNT) throw new Error(`${names.length} databases listed`)
  memory('at the end')
} finally {
  await server.stop()
}
