/**
 * `gurney move` there and back: a server with documents, conflicts, attachments, a view, users and configuration goes from
 * the embedded engine to PostgreSQL and from there to another folder. Everything answers as before, sequences included; a
 * move that is killed on its way is finished by the next; and no server starts on half of one.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { type RunningServer, startProcess } from '../support/start-process.ts'
import { ROOT } from '../tidy/source-tree.ts'

const ADMIN = 'admin:pass'
const HEADERS = {
  Authorization: `Basic ${Buffer.from(ADMIN).toString('base64')}`,
  'Content-Type': 'application/json',
}

async function ask(server: RunningServer, method: string, path: string, body?: unknown) {
  const answer = await fetch(`${server.url()}${path}`, {
    method,
    headers: HEADERS,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  assert.ok(answer.status < 400, `${method} ${path}: ${answer.status} ${text}`)
  return JSON.parse(text) as Record<string, unknown>
}

interface Ended {
  readonly code: number | null
  readonly output: string
}

/** @param killAfter once this has been written, the process is killed */
function move(from: string, to: string, killAfter?: RegExp): Promise<Ended> {
  const args = [join(ROOT, 'dist/main.js'), 'move', '--from', from, '--to', to]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const take = (chunk: Buffer): void => {
    output += chunk
    if (killAfter?.test(output)) child.kill('SIGKILL')
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  return new Promise(resolve => child.on('exit', code => resolve({ code, output })))
}

/** What a client can see, in words. */
async function look(server: RunningServer, since: string): Promise<unknown[]> {
  const { update_seq, doc_count, doc_del_count, sizes } = (await ask(server, 'GET', '/data')) as {
    update_seq: string
    doc_count: number
    doc_del_count: number
    sizes: { external: number }
  }
  return [
    update_seq,
    doc_count,
    doc_del_count,
    sizes.external,
    await ask(server, 'GET', '/data/_changes?style=all_docs'),
    await ask(server, 'GET', `/data/_changes?since=${encodeURIComponent(since)}`),
    await ask(server, 'GET', '/data/_all_docs?include_docs=true&attachments=true&conflicts=true'),
    await ask(server, 'GET', '/data/_design/d/_view/by_n?reduce=false'),
    await ask(server, 'GET', '/data/_security'),
    await ask(server, 'GET', '/_node/_local/_config/admins'),
    (await ask(server, 'GET', '/')).uuid,
    (await ask(server, 'GET', '/_db_updates')).last_seq,
  ]
}

async function fill(server: RunningServer): Promise<string> {
  await ask(server, 'PUT', '/data')
  const docs = Array.from({ length: 3000 }, (_, n) => ({
    _id: `doc-${n}`,
    n,
    text: 'x'.repeat(n % 700),
  }))
  await ask(server, 'POST', '/data/_bulk_docs', { docs })
  const { last_seq } = await ask(server, 'GET', '/data/_changes?limit=1500')
  const conflict = [
    { _id: 'torn', _rev: '1-aa', side: 'a' },
    { _id: 'torn', _rev: '1-bb', side: 'b' },
  ]
  await ask(server, 'POST', '/data/_bulk_docs', { docs: conflict, new_edits: false })
  const data = Buffer.alloc(200_000, 7).toString('base64')
  const attached = { _attachments: { file: { content_type: 'image/png', data } } }
  await ask(server, 'PUT', '/data/attached', attached)
  const { rev } = await ask(server, 'PUT', '/data/gone', {})
  await ask(server, 'DELETE', `/data/gone?rev=${rev}`)
  const views = { by_n: { map: 'function (doc) { emit(doc.n, null) }', reduce: '_count' } }
  await ask(server, 'PUT', '/data/_design/d', { views })
  await ask(server, 'PUT', '/data/_security', { members: { names: ['ann'], roles: [] } })
  await ask(server, 'GET', '/data/_design/d/_view/by_n')
  return String(last_seq)
}

describe('gurney move', () => {
  let postgres: TestPostgres
  let folder: string
  const running: RunningServer[] = []

  before(async () => {
    postgres = await startPostgres()
    folder = await mkdtemp(join(tmpdir(), 'gurney-move-'))
  })

  after(async () => {
    for (const server of running) if (server.process.exitCode === null) await server.kill()
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it('takes a server to PostgreSQL and back', async () => {
    const [first, node, last] = ['first', 'node', 'last'].map(name => join(folder, name))
    const address = postgres.address()
    const start = async (data: string, env: Record<string, string> = {}, flags: string[] = []) => {
      const server = await startProcess(data, ['--workers', '1', ...flags], env)
      running.push(server)
      return server
    }
    const original = await start(first as string, {}, ['--admin', ADMIN])
    const since = await fill(original)
    assert.match((await move(first as string, address)).output, /uses this data folder/)
    const expected = await look(original, since)
    await original.stop()

    // Killed on its way: nobody starts on what is there, and the next run finishes it.
    const killed = await move(first as string, address, /1 of \d+ stores/)
    assert.equal(killed.code, null)
    await assert.rejects(
      start(node as string, { GURNEY_ENGINE: address }),
      /a move to this engine is not finished/,
    )
    const moved = await move(first as string, address)
    assert.match(moved.output, /Moved and compared \d+ stores, \d+ rows/)
    assert.ok(!moved.output.includes(new URL(address).password))
    const shared = await start(node as string, { GURNEY_ENGINE: address })
    assert.deepEqual(await look(shared, since), expected)
    assert.match((await move(address, last as string)).output, /in use by gurney@/)
    await shared.stop()

    assert.match((await move(first as string, address)).output, /holds data already/)
    assert.equal((await move(address, last as string)).code, 0)
    const back = await start(last as string)
    assert.deepEqual(await look(back, since), expected)
    await ask(back, 'PUT', '/data/after', {})
    await back.stop()
  })
})
