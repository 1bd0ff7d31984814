import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startServer, type TestServer } from '../../../support/start-server.ts'

interface Updates {
  readonly results: readonly {
    readonly db_name: string
    readonly type: string
    readonly seq: string
  }[]
  readonly last_seq: string
}

const listed = ({ results }: Updates): string[] => results.map(row => `${row.type} ${row.db_name}`)

async function updates(server: TestServer, query = ''): Promise<Updates> {
  return (await server.ask('GET', `/_db_updates?${query}`)).json as Updates
}

/** Until the feed waits. */
async function waiting(server: TestServer): Promise<void> {
  while (server.notices.followedStoreCount === 0) await delay(2)
}

test('creations, updates and deletions, each once and in order', async () => {
  const server = await startServer()
  const { last_seq: before } = await updates(server, 'since=now')
  await server.ask('PUT', '/a')
  await server.ask('PUT', '/b')
  assert.deepEqual(listed(await updates(server)), ['created a', 'created b'])
  const waits = server.ask('GET', '/_db_updates?feed=longpoll&since=now')
  await waiting(server)
  for (let n = 0; n < 10; n++) await server.ask('PUT', `/a/d${n}`, { body: {} })
  assert.match((await waits).text, /^\n\{"db_name":"a","type":"updated","seq":"3-[^"]+"\}\n$/)
  await server.ask('DELETE', '/a')
  const all = await updates(server, `since=${before}`)
  assert.deepEqual(listed(all), ['created a', 'created b', 'updated a', 'deleted a'])
  assert.deepEqual(listed(await updates(server, `since=${all.last_seq}`)), [])
  assert.deepEqual(listed(await updates(server, 'descending=true&limit=1')), ['deleted a'])
  await server.close()
})

test('feeds in the dialect of CouchDB tell where they end', async () => {
  const server = await startServer({ dialect: 'couchdb' })
  await server.ask('PUT', '/a')
  const ask = async (query: string) =>
    (await server.ask('GET', `/_db_updates?${query}`)).text.replace(/(\d+)-[\w-]{22}/g, '$1')
  const row = '{"db_name":"a","type":"created","seq":"1"}'
  assert.equal(await ask(''), `{"results":[\n${row}\n],\n"last_seq":"1"}\n\n`)
  assert.equal(await ask('feed=longpoll'), `{"results":[\n${row}\n],\n"last_seq":"1"}\n\n`)
  assert.equal(await ask('feed=continuous&timeout=20'), `${row}\n{"last_seq":"1"}\n`)
  assert.equal(await ask('feed=eventsource&timeout=20'), `data: ${row}\nid: "1"\n\n`)
  await server.close()
})

test('only server admins, only sensible parameters', async () => {
  const server = await startServer()
  assert.equal((await server.ask('GET', '/_db_updates', { user: null })).status, 401)
  for (const query of ['limit=x', 'timeout=x', 'feed=x', 'since=5', 'heartbeat=0']) {
    assert.equal((await server.ask('GET', `/_db_updates?${query}`)).status, 400, query)
  }
  const first = await server.ask('GET', '/_db_updates')
  const headers = { 'If-None-Match': String(first.headers.etag) }
  assert.equal((await server.ask('GET', '/_db_updates', { headers })).status, 304)
  await server.close()
})
