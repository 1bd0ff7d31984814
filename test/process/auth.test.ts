/** Who comes in, where the whole tree of processes has to agree. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type RunningServer, startProcess } from '../support/start-process.ts'

const AUTHORIZATION = `Basic ${Buffer.from('admin:pass').toString('base64')}`
const FLAGS = ['--admin', 'admin:pass', '--workers', '2']

/** A connection of its own each time, so that requests fall to all workers. */
async function call(
  server: RunningServer,
  method: string,
  path: string,
  options: { readonly body?: unknown; readonly authorization?: string } = {},
): Promise<number> {
  const { body, authorization = AUTHORIZATION } = options
  const response = await fetch(server.url() + path, {
    method,
    headers: { authorization, connection: 'close', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  await response.arrayBuffer()
  return response.status
}

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

const user = (name: string) => ({ body: { name, password: 'pw', roles: [], type: 'user' } })

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    if (await holds()) return
    await new Promise(resolve => setTimeout(resolve, 25))
  }
  assert.fail('it did not come true')
}

describe('a server of several processes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gurney-auth-'))
  const ini = '[svc_httpd_auth]\niterations = 10\n[couch_peruser]\nenable = true\n'
  writeFileSync(join(folder, 'local.ini'), ini)
  let server: RunningServer
  before(async () => {
    server = await startProcess(folder, FLAGS)
    await call(server, 'PUT', '/_users')
    await call(server, 'PUT', '/_users/org.couchdb.user:bob', user('bob'))
  })
  after(async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('counts wrong passwords in all of them together', async () => {
    const statuses: number[] = []
    for (let n = 0; n < 12; n++) {
      statuses.push(await call(server, 'GET', '/', { authorization: basic(`bob:wrong${n}`) }))
    }
    const guesses = statuses.filter(status => status === 401).length
    // What one worker counted may reach the other a moment later.
    assert.ok(guesses >= 5 && guesses <= 6, `${guesses} guesses were possible`)
    assert.equal(statuses.at(-1), 403)
    assert.equal(await call(server, 'GET', '/'), 200)
  })

  it('makes databases of users once, and after a restart goes on', async () => {
    await until(async () => (await call(server, 'GET', '/userdb-626f62')) === 200)
    assert.equal(await server.stop(), 0)
    server = await startProcess(folder, FLAGS)
    assert.equal(await call(server, 'GET', '/userdb-626f62'), 200)
    await call(server, 'PUT', '/_users/org.couchdb.user:ann', user('ann'))
    await until(async () => (await call(server, 'GET', '/userdb-616e6e')) === 200)
    assert.doesNotMatch(server.log(), /databases of users/)
  })

  it('hashes a password that was written into the file when it is read anew', async () => {
    const path = join(folder, 'local.ini')
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replace('[admins]', '[admins]\neve = plain-text'))
    assert.equal(await call(server, 'POST', '/_node/_local/_config/_reload'), 200)
    assert.doesNotMatch(readFileSync(path, 'utf8'), /plain-text/)
    assert.equal(
      await call(server, 'GET', '/_all_dbs', { authorization: basic('eve:plain-text') }),
      200,
    )
  })
})
