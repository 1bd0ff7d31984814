/** The whole process tree, as people start it: it answers, agrees with itself, survives its workers, and stops. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { freePort } from '../../src/processes/free-port.ts'
import { childrenOf } from '../support/server-children.ts'
import { type RunningServer, startProcess } from '../support/start-process.ts'
import { ROOT } from '../tidy/source-tree.ts'

const folders: string[] = []
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gurney-process-'))
  // Few rounds of password hashing: these tests are not about it.
  writeFileSync(join(folder, 'local.ini'), '[svc_httpd_auth]\niterations = 10\n')
  folders.push(folder)
  return folder
}
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const ADMIN = ['--admin', 'admin:pass', '--workers', '2']
const AUTHORIZATION = `Basic ${Buffer.from('admin:pass').toString('base64')}`

/** A connection of its own each time, so that requests fall to all workers. */
function call(
  server: RunningServer,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; json: unknown }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: AUTHORIZATION, 'content-type': 'application/json' }
    const options = { host: '127.0.0.1', port: server.port, method, path, headers, agent: false }
    const request = httpRequest({ ...options, timeout: 10_000 }, response => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const json = JSON.parse(Buffer.concat(chunks).toString()) as unknown
        resolve({ status: response.statusCode ?? 0, json })
      })
    })
    request.on('timeout', () => request.destroy(new Error(`${method} ${path} was not answered`)))
    request.on('error', reject)
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

const workersOf = (server: RunningServer): number[] => childrenOf(server.process.pid, 'worker')

describe('a running server', () => {
  let server: RunningServer
  const folder = newFolder()
  before(async () => {
    server = await startProcess(folder, ADMIN)
  })
  after(() => server.stop())

  it('makes and deletes databases for all workers at once', async () => {
    for (let round = 0; round < 10; round++) {
      assert.equal((await call(server, 'PUT', '/d')).status, 201)
      const answers = await Promise.all(Array.from({ length: 6 }, () => call(server, 'GET', '/d')))
      assert.deepEqual(
        answers.map(answer => answer.status),
        [200, 200, 200, 200, 200, 200],
      )
      assert.equal((await call(server, 'DELETE', '/d')).status, 200)
      const gone = await Promise.all(Array.from({ length: 6 }, () => call(server, 'GET', '/d')))
      assert.deepEqual(
        gone.map(answer => answer.status),
        [404, 404, 404, 404, 404, 404],
      )
    }
  })

  it('shows a written document to all workers at once', async () => {
    await call(server, 'PUT', '/shared')
    for (let round = 0; round < 20; round++) {
      const written = (await call(server, 'PUT', `/shared/doc${round}`, { round })).json as {
        rev: string
      }
      const seen = await Promise.all(
        Array.from({ length: 4 }, () => call(server, 'GET', `/shared/doc${round}`)),
      )
      for (const { json } of seen) assert.equal((json as { _rev: string })._rev, written.rev)
    }
  })

  it('lets exactly one of two competing writers win', async () => {
    await call(server, 'PUT', '/race')
    for (let round = 0; round < 20; round++) {
      const tries = await Promise.all(
        Array.from({ length: 8 }, (_, writer) =>
          call(server, 'PUT', `/race/doc${round}`, { writer }),
        ),
      )
      assert.equal(tries.filter(({ status }) => status === 201).length, 1)
      assert.equal(tries.filter(({ status }) => status === 409).length, 7)
    }
  })

  it('changes configuration for all workers before it answers, and keeps it', async () => {
    for (const value of ['7', '9', '11']) {
      await call(server, 'PUT', '/_node/_local/_config/uuids/max_count', value)
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => call(server, 'GET', `/_uuids?count=${Number(value) + 1}`)),
      )
      assert.deepEqual(
        answers.map(answer => answer.status),
        [400, 400, 400, 400, 400, 400],
      )
    }
    assert.match(readFileSync(join(folder, 'local.ini'), 'utf8'), /\[uuids\]\nmax_count = 11/)
    assert.equal(
      (await call(server, 'PUT', '/_node/_local/_config/uuids/max_count', 'many')).status,
      400,
    )
    assert.deepEqual(
      (await call(server, 'GET', '/_node/_local/_config/uuids/max_count')).json,
      '11',
    )
  })

  it('replaces a worker that dies, and the other answers meanwhile', async () => {
    const [victim] = workersOf(server)
    assert.ok(victim)
    process.kill(victim, 'SIGKILL')
    for (let round = 0; round < 20; round++) {
      const { status } = await call(server, 'GET', '/_up').catch(() => ({ status: 0 }))
      // Only a connection that the dying worker held may be lost; new ones go to the living.
      if (round > 0) assert.equal(status, 200)
    }
    const deadline = Date.now() + 10_000
    while (workersOf(server).length < 2 && Date.now() < deadline)
      await new Promise(done => setTimeout(done, 50))
    assert.equal(workersOf(server).length, 2)
  })

  it('refuses a second server on its data in one line', () => {
    const { status, stderr } = tryToServe(folder, [])
    assert.equal(status, 1)
    assert.match(stderr, /another server .* uses this data folder/)
    assert.equal(stderr.trim().split('\n').length, 1)
  })

  it('finishes requests under way and ends with 0 when asked to stop', async () => {
    const other = await startProcess(newFolder(), ADMIN)
    const calls = Array.from({ length: 20 }, () => call(other, 'GET', '/_all_dbs'))
    const answers = Promise.allSettled(calls)
    await new Promise(done => setTimeout(done, 5))
    const code = await other.stop()
    assert.equal(code, 0)
    await answers
  })
})

function tryToServe(
  folder: string,
  flags: readonly string[],
): { status: number | null; stderr: string } {
  const args = [
    join(ROOT, 'dist/main.js'),
    'serve',
    '--port',
    '0',
    '--node-port',
    'off',
    '--data',
    folder,
  ]
  return spawnSync(process.execPath, [...args, ...flags], { encoding: 'utf8', timeout: 20_000 })
}

describe('a server that cannot start says why in one line', () => {
  const cases: [string, (folder: string) => void, readonly string[], RegExp][] = [
    [
      'a file where the data folder should be',
      folder => writeFileSync(join(folder, 'file'), ''),
      ['--data', 'file'],
      /file/,
    ],
    [
      'data of a newer format',
      folder => writeFileSync(join(folder, 'FORMAT'), '{"format":99,"engine":"embedded"}'),
      [],
      /format 99.*upgrade/,
    ],
    [
      'a bad value in local.ini',
      folder => writeFileSync(join(folder, 'local.ini'), '[couchdb]\nmax_document_size = lots\n'),
      [],
      /max_document_size = lots/,
    ],
    ['an unknown engine', () => {}, ['--engine', 'floppy'], /floppy/],
    ['a bad flag', () => {}, ['--workers', 'few'], /--workers/],
  ]
  for (const [name, prepare, flags, text] of cases) {
    it(name, () => {
      const folder = newFolder()
      prepare(folder)
      const own = flags.map(flag => (flag === 'file' ? join(folder, 'file') : flag))
      const { status, stderr } = tryToServe(folder, own)
      assert.equal(status, 1)
      assert.match(stderr, text)
      assert.equal(stderr.trim().split('\n').length, 1, stderr)
    })
  }

  it('a port that is taken', async () => {
    const taken = createServer()
    await new Promise<void>(done => taken.listen(0, '127.0.0.1', done))
    const { port } = taken.address() as { port: number }
    const { status, stderr } = tryToServe(newFolder(), ['--port', String(port)])
    taken.close()
    assert.equal(status, 1)
    assert.match(stderr, new RegExp(`port ${port} .* is in use`))
  })
})

it('a data folder remembers who the server is', async () => {
  const folder = newFolder()
  const uuids: unknown[] = []
  for (let start = 0; start < 2; start++) {
    const server = await startProcess(folder, ADMIN)
    uuids.push(((await call(server, 'GET', '/')).json as { uuid: string }).uuid)
    await server.stop()
  }
  assert.match(String(uuids[0]), /^[0-9a-f]{32}$/)
  assert.equal(uuids[0], uuids[1])
  assert.ok(existsSync(join(folder, 'local.ini')))
  assert.doesNotMatch(readFileSync(join(folder, 'local.ini'), 'utf8'), /pass\b/)
})

it('serves HTTPS by configuration, with cookies for secure connections only', async () => {
  const folder = newFolder()
  const certificates = join(ROOT, 'test/support/certificates')
  const port = await freePort('127.0.0.1')
  const ssl = `enable = true\nport = ${port}\ncert_file = ${certificates}/cert.pem\nkey_file = ${certificates}/key.pem`
  appendFileSync(join(folder, 'local.ini'), `[ssl]\n${ssl}\n`)
  const server = await startProcess(folder, ADMIN)
  try {
    const ca = readFileSync(join(certificates, 'cert.pem'))
    const { status, headers } = await new Promise<{ status: number; headers: IncomingHttpHeaders }>(
      (resolve, reject) => {
        const type = { 'content-type': 'application/json' }
        const options = {
          host: '127.0.0.1',
          port,
          path: '/_session',
          method: 'POST',
          ca,
          headers: type,
        }
        const request = httpsRequest(options, response => {
          response.resume()
          resolve({ status: response.statusCode ?? 0, headers: response.headers })
        })
        request.on('error', reject)
        request.end(JSON.stringify({ name: 'admin', password: 'pass' }))
      },
    )
    assert.equal(status, 200)
    assert.match(String(headers['set-cookie']), /; Secure/i)
  } finally {
    await server.stop()
  }
})

it('says in one line that a certificate is missing', () => {
  const folder = newFolder()
  appendFileSync(
    join(folder, 'local.ini'),
    '[ssl]\nenable = true\nport = 0\ncert_file = nowhere.pem\n',
  )
  const { status, stderr } = tryToServe(folder, [])
  assert.equal(status, 1)
  assert.match(stderr, /\[ssl\] cert_file = nowhere\.pem cannot be read/)
})
