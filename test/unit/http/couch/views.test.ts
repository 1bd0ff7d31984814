import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { readIndexStoreId } from '../../../../src/core/database/store-names.ts'
import { startServer, type TestServer } from '../../../support/start-server.ts'

interface Rows {
  readonly total_rows?: number
  readonly offset?: number
  readonly update_seq?: unknown
  readonly rows: { id?: string; key: unknown; value: unknown; doc?: unknown }[]
}

let server: TestServer
before(async () => {
  server = await startServer()
})
after(() => server.close())

const put = async (path: string, body: unknown): Promise<{ rev: string }> => {
  const answer = await server.ask('PUT', path, { body })
  assert.ok(answer.status < 300, answer.text)
  return answer.json as { rev: string }
}

async function rowsOf(path: string): Promise<Rows> {
  const answer = await server.ask('GET', path)
  assert.equal(answer.status, 200, answer.text)
  return answer.json as Rows
}

const byNumber = { views: { n: { map: 'function (doc) { emit(doc.n, null) }' } } }

const indexesOf = async (): Promise<string[]> =>
  (await server.engine.listStores()).filter(id => readIndexStoreId(id) !== undefined)

describe('views', () => {
  it('are there with the changes of the moment of asking', async () => {
    await put('/now', undefined)
    await put('/now/_design/d', byNumber)
    const { rev } = await put('/now/a', { n: 1 })
    assert.equal((await rowsOf('/now/_design/d/_view/n')).total_rows, 1)
    await put('/now/a', { n: 2, _rev: rev })
    const { rows } = await rowsOf('/now/_design/d/_view/n')
    assert.deepEqual(rows, [{ id: 'a', key: 2, value: null }])
  })

  it('answer as they are when told not to update', async () => {
    await put('/stale', undefined)
    await put('/stale/a', { n: 1 })
    await put('/stale/_design/d', { ...byNumber, autoupdate: false })
    const path = '/stale/_design/d/_view/n'
    assert.deepEqual(await rowsOf(`${path}?update=false`), { total_rows: 0, offset: 0, rows: [] })
    assert.equal((await rowsOf(path)).total_rows, 1)
    await put('/stale/b', { n: 2 })
    assert.equal((await rowsOf(`${path}?stale=ok`)).total_rows, 1)
    assert.equal((await rowsOf(`${path}?update=lazy`)).total_rows, 1)
    for (let tries = 0; (await rowsOf(`${path}?update=false`)).total_rows !== 2; tries++) {
      assert.ok(tries < 500, 'a lazy update never came')
      await delay(10)
    }
  })

  it('are built before they are asked', async () => {
    await put('/ahead', undefined)
    await put('/ahead/a', { n: 1 })
    await put('/ahead/_design/d', byNumber)
    const path = '/ahead/_design/d/_view/n?update=false'
    for (let tries = 0; (await rowsOf(path)).total_rows !== 1; tries++) {
      assert.ok(tries < 500, 'nobody built it')
      await delay(10)
    }
  })

  it('forget purged documents', async () => {
    await put('/purged', undefined)
    await put('/purged/_design/d', byNumber)
    const { rev } = await put('/purged/a', { n: 1 })
    await put('/purged/b', { n: 2 })
    assert.equal((await rowsOf('/purged/_design/d/_view/n')).total_rows, 2)
    await server.ask('POST', '/purged/_purge', { body: { a: [rev] } })
    const { rows } = await rowsOf('/purged/_design/d/_view/n')
    assert.deepEqual(rows, [{ id: 'b', key: 2, value: null }])
  })

  it('are built anew when the records of purges do not reach back', async () => {
    await put('/trimmed', undefined)
    await put('/trimmed/_design/d', byNumber)
    const revs = await Promise.all(['a', 'b', 'c'].map(id => put(`/trimmed/${id}`, { n: 1 })))
    assert.equal((await rowsOf('/trimmed/_design/d/_view/n')).total_rows, 3)
    await put('/trimmed/_purged_infos_limit', 1)
    const body = { a: [revs[0]?.rev], b: [revs[1]?.rev] }
    await server.ask('POST', '/trimmed/_purge', { body })
    const { rows } = await rowsOf('/trimmed/_design/d/_view/n')
    assert.deepEqual(rows, [{ id: 'c', key: 1, value: null }])
  })

  it('leave out documents whose function throws, in that view only', async () => {
    await put('/throws', undefined)
    await put('/throws/a', { n: 1 })
    await put('/throws/b', {})
    const bad = 'function (doc) { emit(1, 1); doc.n.toFixed(1) }'
    const views = { ...byNumber.views, bad: { map: bad } }
    await put('/throws/_design/d', { views })
    assert.equal((await rowsOf('/throws/_design/d/_view/n')).total_rows, 2)
    assert.deepEqual((await rowsOf('/throws/_design/d/_view/bad')).rows, [
      { id: 'a', key: 1, value: 1 },
    ])
  })

  it('fail as a whole when a function fails the index', async () => {
    await put('/fatal', undefined)
    await put('/fatal/a', { n: 'x' })
    const map = 'function (doc) { emit(1, doc.n) }'
    await put('/fatal/_design/d', { views: { s: { map, reduce: '_stats' } } })
    for (const path of ['s', 's?reduce=false']) {
      const answer = await server.ask('GET', `/fatal/_design/d/_view/${path}`)
      assert.equal(answer.status, 500)
      assert.equal((answer.json as { error: string }).error, 'invalid_value')
    }
  })

  it('say what they have seen', async () => {
    await put('/seq', undefined)
    await put('/seq/_design/d', byNumber)
    await put('/seq/a', { n: 1 })
    const { update_seq: seq } = await rowsOf('/seq/_design/d/_view/n?update_seq=true')
    assert.equal(seq, 2)
    const free = await rowsOf('/seq/_design/d/_view/n?sorted=false')
    assert.deepEqual(Object.keys(free), ['rows'])
  })

  it('see design documents and sequences only when they want to', async () => {
    await put('/options', undefined)
    await put('/options/a', { n: 1 })
    const views = { all: { map: 'function (doc) { emit(doc._id, doc._local_seq) }' } }
    await put('/options/_design/plain', { views })
    const options = { include_design: true, local_seq: true }
    await put('/options/_design/rich', { views, options })
    const plain = await rowsOf('/options/_design/plain/_view/all')
    assert.deepEqual(plain.rows, [{ id: 'a', key: 'a', value: null }])
    const rich = await rowsOf('/options/_design/rich/_view/all')
    assert.deepEqual(
      rich.rows.map(({ id, value }) => [id, value]),
      [
        ['_design/plain', 2],
        ['_design/rich', 3],
        ['a', 1],
      ],
    )
  })

  it('answer 304 until their rows change', async () => {
    await put('/tags', undefined)
    await put('/tags/_design/d', {
      views: { n: { map: 'function (doc) { if (doc.n) emit(doc.n) }' } },
    })
    await put('/tags/a', { n: 1 })
    const first = await server.ask('GET', '/tags/_design/d/_view/n')
    const headers = { 'If-None-Match': String(first.headers.etag) }
    await put('/tags/rowless', {})
    assert.equal((await server.ask('GET', '/tags/_design/d/_view/n', { headers })).status, 304)
    await put('/tags/b', { n: 2 })
    assert.equal((await server.ask('GET', '/tags/_design/d/_view/n', { headers })).status, 200)
  })

  it('change with their design document', async () => {
    await put('/changing', undefined)
    await put('/changing/a', { n: 5 })
    let { rev } = await put('/changing/_design/d', byNumber)
    for (let factor = 2; factor < 6; factor++) {
      const map = `function (doc) { emit(doc.n * ${factor}, null) }`
      const asked = rowsOf('/changing/_design/d/_view/n')
      ;({ rev } = await put('/changing/_design/d', { _rev: rev, views: { n: { map } } }))
      await asked
      const { rows } = await rowsOf('/changing/_design/d/_view/n')
      assert.equal(rows[0]?.key, 5 * factor)
    }
  })
})

describe('index stores', () => {
  it('are shared by equal definitions, cleaned up and deleted with their database', async () => {
    const others = new Set(await indexesOf())
    const own = async () => (await indexesOf()).filter(id => !others.has(id))
    await put('/stores', undefined)
    await put('/stores/_design/one', byNumber)
    const { rev } = await put('/stores/_design/two', byNumber)
    await rowsOf('/stores/_design/one/_view/n')
    await rowsOf('/stores/_design/two/_view/n')
    assert.equal((await own()).length, 1)
    const views = { n: { map: 'function (doc) { emit(1, 1) }' } }
    await put('/stores/_design/two', { _rev: rev, views })
    await rowsOf('/stores/_design/two/_view/n')
    assert.equal((await own()).length, 2)
    await server.ask('DELETE', `/stores/_design/one?rev=${await revOf('/stores/_design/one')}`)
    const cleaned = await server.ask('POST', '/stores/_view_cleanup', { body: {} })
    assert.equal(cleaned.status, 202)
    assert.equal((await own()).length, 1)
    assert.equal((await rowsOf('/stores/_design/two/_view/n')).total_rows, 0)
    await server.ask('DELETE', '/stores')
    assert.equal((await own()).length, 0)
  })
})

const revOf = async (path: string): Promise<string> =>
  ((await server.ask('GET', path)).json as { _rev: string })._rev
