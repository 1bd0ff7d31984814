import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Engine } from '../../../../src/engine/engine.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'
import { startServer, type TestServer } from '../../../support/start-server.ts'

const AUTH = { svc_httpd_auth: { secret: 's', iterations: '1' } }
const ON = { ...AUTH, svc_peruser: { enable: 'true' } }
const BOB = 'userdb-626f62'

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (await holds()) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  assert.fail('it did not come true')
}

const isThere = async (server: TestServer, path: string): Promise<boolean> =>
  (await server.ask('GET', path)).status === 200

async function register(server: TestServer, name: string, prefix = 'org.couchdb.user:') {
  const body = { name, password: 'pw', roles: [], type: 'user' }
  const answer = await server.ask('PUT', `/_users/${encodeURIComponent(prefix + name)}`, { body })
  assert.equal(answer.status, 201)
  return (answer.json as { rev: string }).rev
}

const remove = async (server: TestServer, name: string, rev: string) =>
  assert.equal(
    (await server.ask('DELETE', `/_users/org.couchdb.user:${name}?rev=${rev}`)).status,
    200,
  )

const security = async (server: TestServer, name: string): Promise<unknown> =>
  (await server.ask('GET', `/${name}/_security`)).json

/** A server whose engine outlives it. */
function surviving(engine: Engine): Engine {
  return new Proxy(engine, {
    get(target, key) {
      if (key === 'close') return async () => {}
      const value = Reflect.get(target, key) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

describe('databases of users', () => {
  it('are made with the account, for its owner alone', async () => {
    const server = await startServer({ settings: ON })
    await server.ask('PUT', '/_users')
    await register(server, 'bob')
    await register(server, 'ann')
    await until(() => isThere(server, `/${BOB}`))
    await until(() => isThere(server, '/userdb-616e6e'))
    assert.deepEqual(await security(server, BOB), {
      members: { roles: ['_admin'], names: ['bob'] },
      admins: { roles: ['_admin'], names: ['bob'] },
    })
    assert.equal(
      ((await server.ask('GET', `/${BOB}`)).json as { cluster: { q: number } }).cluster.q,
      1,
    )
    assert.equal((await server.ask('PUT', `/${BOB}/x`, { body: {}, user: 'bob:pw' })).status, 201)
    assert.equal((await server.ask('GET', `/${BOB}/x`, { user: 'ann:pw' })).status, 403)
    assert.equal((await server.ask('GET', `/${BOB}/x`, { user: null })).status, 401)
    await server.close()
  })

  it('stay when the account goes, and nobody else gets in', async () => {
    const server = await startServer({ settings: ON })
    await server.ask('PUT', '/_users')
    const rev = await register(server, 'bob')
    await until(() => isThere(server, `/${BOB}`))
    // Somebody opened it to bob alone, without the role.
    await server.ask('PUT', `/${BOB}/_security`, { body: { members: { names: ['bob'] } } })
    await remove(server, 'bob', rev)
    await until(async () => !JSON.stringify(await security(server, BOB)).includes('bob'))
    assert.equal((await server.ask('GET', `/${BOB}`, { user: null })).status, 401)
    await server.close()
  })

  it('go with the account where configured, but not with one of its two spellings', async () => {
    const settings = { ...AUTH, svc_peruser: { enable: 'true', delete_dbs: 'true' } }
    const server = await startServer({ settings })
    await server.ask('PUT', '/_users')
    const rev = await register(server, 'bob')
    await until(() => isThere(server, `/${BOB}`))
    await remove(server, 'bob', rev)
    await until(async () => !(await isThere(server, `/${BOB}`)))
    await register(server, 'bob', 'org.svc.user:')
    await until(() => isThere(server, `/${BOB}`))
    await server.close()
  })

  it('are made for those who were there before it was switched on, with the prefix of then', async () => {
    const server = await startServer({ settings: AUTH })
    await server.ask('PUT', '/_users')
    await register(server, 'bob')
    const set = (key: string, value: string) =>
      server.ask('PUT', `/_node/_local/_config/couch_peruser/${key}`, {
        body: JSON.stringify(value),
      })
    await set('enable', 'true')
    await until(() => isThere(server, `/${BOB}`))
    await set('database_prefix', 'home-')
    await until(() => isThere(server, '/home-626f62'))
    await set('enable', 'false')
    await register(server, 'ann')
    await set('enable', 'true')
    await until(() => isThere(server, '/home-616e6e'))
    assert.equal(await isThere(server, '/userdb-616e6e'), false)
    await server.close()
  })

  it('are caught up with after a restart, and not made again when they were removed', async () => {
    const engine = surviving(new MemoryEngine())
    const first = await startServer({ settings: ON, engine })
    await first.ask('PUT', '/_users')
    await register(first, 'bob')
    await until(() => isThere(first, `/${BOB}`))
    await until(() => isThere(first, '/_users/_local/svc_peruser'))
    await first.close()
    const without = await startServer({ settings: AUTH, engine })
    await without.ask('DELETE', `/${BOB}`)
    await register(without, 'ann')
    await without.close()
    const second = await startServer({ settings: ON, engine })
    await until(() => isThere(second, '/userdb-616e6e'))
    assert.equal(await isThere(second, `/${BOB}`), false)
    await second.close()
  })

  it('begin anew with a new users database, and pass over names that are too long', async () => {
    const server = await startServer({ settings: ON })
    await server.ask('PUT', '/_users')
    await register(server, 'x'.repeat(200))
    await register(server, 'bob')
    await until(() => isThere(server, `/${BOB}`))
    await server.ask('DELETE', '/_users')
    await server.ask('PUT', '/_users')
    await register(server, 'ann')
    await until(() => isThere(server, '/userdb-616e6e'))
    await server.close()
  })
})
