/** What is asked ahead goes out with the first question, and never shows anything of a database that is gone. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { documentKey, SECURITY } from '../../../../src/core/database/keyspace.ts'
import { LateEngine } from '../../../support/late-engine.ts'
import { startServer, type TestServer } from '../../../support/start-server.ts'

let engine: LateEngine
let server: TestServer
const ANN = 'ann:secret'
const CATALOG = 'catalog'

beforeEach(async () => {
  engine = new LateEngine()
  server = await startServer({ engine, dialect: 'couchdb' })
  await server.ask('PUT', '/_users')
  const ann = { name: 'ann', password: 'secret', roles: [], type: 'user' }
  await server.ask('PUT', '/_users/org.couchdb.user:ann', { body: ann })
  await make('old', ['ann'])
})
afterEach(() => server.close())

async function make(text: string, members: readonly string[]): Promise<void> {
  await server.ask('PUT', '/db')
  await server.ask('PUT', '/db/_security', { body: { members: { names: members } } })
  await server.ask('PUT', '/db/a', { body: { text } })
}

const read = (user = ANN) => server.ask('GET', '/db/a', { user })

/** Runs the work once, while the catalog is asked: all else that was asked with it is looked up before. */
function whileCatalogIsAsked(work: () => Promise<unknown>): void {
  engine.onGet = async id => {
    if (id !== CATALOG) return
    engine.onGet = () => {}
    await nextTurn()
    await work()
  }
}

describe('looking ahead', () => {
  it('asks for name, security and document before any of them is answered', async () => {
    assert.equal((await read()).status, 200)
    const asked = new Set<string>()
    let release = (): void => {}
    const all = new Promise<void>(resolve => {
      release = resolve
    })
    engine.onGet = (id, key) => {
      if (id === CATALOG) asked.add('name')
      else if (documentKey('a').equals(key)) asked.add('document')
      else if (SECURITY.equals(key)) asked.add('security')
      else return
      if (asked.size === 3) release()
      return all
    }
    const answer = await read()
    assert.equal((answer.json as { text: string }).text, 'old')
    assert.equal(asked.size, 3)
  })

  it('shows no document of a database that was deleted and made again', async () => {
    assert.equal((await read()).status, 200)
    whileCatalogIsAsked(async () => {
      await server.ask('DELETE', '/db')
      await make('new', ['ann'])
    })
    assert.equal(((await read()).json as { text: string }).text, 'new')
  })

  it('goes by the security of the database that has the name now', async () => {
    assert.equal((await read()).status, 200)
    whileCatalogIsAsked(async () => {
      await server.ask('DELETE', '/db')
      await make('new', ['somebody'])
    })
    assert.equal((await read()).status, 403)
  })

  it('finds nothing once the database is gone', async () => {
    assert.equal((await read()).status, 200)
    whileCatalogIsAsked(() => server.ask('DELETE', '/db'))
    assert.equal((await read()).status, 404)
    assert.equal((await read()).status, 404)
  })

  it('lets nobody in who was shut out before', async () => {
    assert.equal((await read()).status, 200)
    await server.ask('PUT', '/db/_security', { body: { members: { names: ['somebody'] } } })
    assert.equal((await read()).status, 403)
    assert.equal((await read('admin:pass')).status, 200)
  })

  it('sees what was written before it was asked', async () => {
    for (let n = 0; n < 3; n++) {
      const { _rev } = (await read()).json as { _rev: string }
      await server.ask('PUT', '/db/a', { body: { _rev, text: `now ${n}` } })
      assert.equal(((await read()).json as { text: string }).text, `now ${n}`)
    }
  })
})
