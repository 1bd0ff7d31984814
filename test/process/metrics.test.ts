/** Figures of all processes of the tree, whichever of them is asked. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { childrenOf } from '../support/server-children.ts'
import { type RunningServer, startProcess } from '../support/start-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'gurney-metrics-'))
let server: RunningServer
before(async () => {
  writeFileSync(join(folder, 'local.ini'), '[svc_httpd_auth]\niterations = 10\n')
  server = await startProcess(folder, ['--admin', 'admin:pass', '--workers', '2'])
})
after(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** A connection of its own for each, so that any worker may get it. */
async function ask(path: string): Promise<string> {
  const login = Buffer.from('admin:pass').toString('base64')
  const headers = { Authorization: `Basic ${login}`, Connection: 'close' }
  const response = await fetch(`${server.url()}${path}`, { headers })
  assert.equal(response.status, 200)
  return response.text()
}

function seriesValue(text: string, series: string): number {
  const line = text.split('\n').find(each => each.startsWith(`${series} `))
  return line === undefined ? 0 : Number(line.slice(series.length + 1))
}

const REQUESTS = 20
const COUNT =
  'svc_api_http_request_duration_seconds_count{method="GET",route="/api/info",code="200"}'

test('express-metrics add up over all workers', async () => {
  for (let turn = 0; turn < REQUESTS; turn++) await ask('/api/info')
  for (let turn = 0; turn < 6; turn++) {
    assert.equal(seriesValue(await ask('/api/v1/express-metrics'), COUNT), REQUESTS)
  }
})

test('express-metrics tell about processes and the engine', async () => {
  const text = await ask('/api/v1/express-metrics')
  for (const name of [
    'svc_api_process_resident_memory_bytes',
    'svc_api_process_cpu_seconds_total',
    'svc_api_nodejs_eventloop_lag_seconds',
    'svc_api_nodejs_heap_size_used_bytes',
    'couchdb_engine_operations_total{operation="write"}',
  ]) {
    assert.ok(seriesValue(text, name) > 0, name)
  }
  assert.match(text, /expressjs_number_of_open_connections [1-9]/)
})

test('monitoring tells the uptime of the server, not of the worker that answers', async () => {
  const uptime = async (): Promise<number> =>
    (JSON.parse(await ask('/api/v2/monitoring')) as { date: { uptime: number } }).date.uptime
  const before = await uptime()
  const old = childrenOf(server.process.pid, 'worker')
  const [victim] = old
  assert.ok(victim !== undefined)
  process.kill(victim, 'SIGKILL')
  const isReplaced = (): boolean => {
    const now = childrenOf(server.process.pid, 'worker')
    return now.length === old.length && !now.includes(victim)
  }
  while (!isReplaced()) await new Promise(resolve => setTimeout(resolve, 50))
  for (let turn = 0; turn < 6; turn++) assert.ok((await uptime()) > before)
})
