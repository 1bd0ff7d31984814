/** Checkpoints that must be found, and checkpoints that must not be believed. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { nameEndpoint, parseEndpoint } from '../../src/core/replication/endpoint.ts'
import { replicationId } from '../../src/core/replication/replication-id.ts'
import { type Front, startFront } from '../support/front-server.ts'
import {
  contentsOf,
  type ReplicationServer,
  startReplicationServer,
} from '../support/replication-pair.ts'
import { ADMIN } from '../support/start-server.ts'

let server: ReplicationServer
let front: Front
before(async () => {
  server = await startReplicationServer()
  front = await startFront(server.address)
})
after(async () => {
  front.close()
  await server.close()
})

let round = 0
let source: string
let target: string
beforeEach(async () => {
  front.seen = []
  front.meddle = () => false
  source = `s${++round}`
  target = `t${round}`
  await server.make(source, target)
  const docs = Array.from({ length: 20 }, (_, n) => ({ _id: `d${n}`, n }))
  await server.ask('POST', `/${source}/_bulk_docs`, { docs })
})

const through = (name: string): string => `http://${ADMIN}@${front.place}/${name}`
const local = async (name: string, id: string) => await server.ask('GET', `/${name}/_local/${id}`)

describe('a database that was deleted and made anew', () => {
  /** Replaces it right before the first request that fits. */
  function replaceBefore(name: string, fits: (method: string, path: string) => boolean): void {
    let isDone = false
    front.meddle = async ({ method = '', url = '' }) => {
      if (isDone || !fits(method, url)) return false
      isDone = true
      // The life of a database is told by the second it began in.
      await new Promise(resolve => setTimeout(resolve, 1100))
      await server.ask('DELETE', `/${name}`)
      await server.make(name)
      return false
    }
  }
  const writesCheckpoint = (name: string) => (method: string, path: string) =>
    method === 'PUT' && path.startsWith(`/${name}/_local/`)

  it('is noticed as the target, after it was last looked at, and filled again', async () => {
    const body = { source: server.url(source), target: through(target) }
    const first = await server.replicate(body)
    assert.equal(first.status, 200, first.text)
    await server.ask('PUT', `/${source}/more`, {})
    replaceBefore(target, writesCheckpoint(target))
    const second = await server.replicate(body)
    assert.equal(second.status, 500, second.text)
    assert.match(second.text, /was replaced meanwhile/)
    const third = await server.replicate(body)
    assert.equal(third.status, 200, third.text)
    assert.deepEqual(await contentsOf(server, target), await contentsOf(server, source))
  })

  it('is noticed as the source, and read from its beginning', async () => {
    const body = { source: through(source), target: server.url(target) }
    assert.equal((await server.replicate(body)).status, 200)
    await server.ask('PUT', `/${source}/more`, {})
    replaceBefore(source, writesCheckpoint(source))
    const second = await server.replicate(body)
    assert.equal(second.status, 500, second.text)
    await server.ask('PUT', `/${source}/new`, {})
    assert.equal((await server.replicate(body)).status, 200)
    assert.equal((await server.ask('GET', `/${target}/new`)).status, 200)
  })

  it('is noticed by its sequence where nobody says since when it exists', async () => {
    const body = { source: server.url(source), target: through(target) }
    assert.equal((await server.replicate(body)).status, 200)
    await server.ask('PUT', `/${source}/more`, {})
    let isReplaced = false
    front.meddle = async ({ method = '', url = '' }, response) => {
      if (writesCheckpoint(target)(method, url) && !isReplaced) {
        isReplaced = true
        await server.ask('DELETE', `/${target}`)
        await server.make(target)
      }
      const isInfo = method === 'GET' && url === `/${target}/`
      if (!isInfo && !url.endsWith('_ensure_full_commit')) return false
      const { json } = await server.ask('GET', `/${target}`)
      response.end(JSON.stringify({ ...(json as object), instance_start_time: '0' }))
      return true
    }
    assert.match((await server.replicate(body)).text, /was replaced meanwhile/)
    assert.equal((await server.replicate(body)).status, 200)
    assert.deepEqual(await contentsOf(server, target), await contentsOf(server, source))
  })
})

describe('a checkpoint with the name of an earlier version', () => {
  it('is gone on from, and gets the present name', async () => {
    const body = { source: server.url(source), target: server.url(target) }
    const { json } = await server.replicate(body)
    const { ok, ...checkpoint } = json as Record<string, unknown>
    const seq = (await server.ask('GET', `/${source}`)).json as { update_seq: unknown }
    const ends = [body.source, body.target].map(url =>
      nameEndpoint(parseEndpoint(url, undefined), { user: 'admin', port: 5984 }),
    )
    const { base, earlier } = replicationId({
      serverUuid: '0123456789abcdef0123456789abcdef',
      hostName: '',
      port: 5984,
      source: ends[0] as NonNullable<(typeof ends)[0]>,
      target: ends[1] as NonNullable<(typeof ends)[0]>,
    })
    assert.equal(ok, true)
    for (const name of [source, target]) {
      assert.equal((await local(name, base)).status, 200)
      await server.ask('DELETE', `/${name}/_local/${base}`)
      const old = { ...checkpoint, source_last_seq: seq.update_seq, replication_id_version: 3 }
      await server.ask('PUT', `/${name}/_local/${earlier[0]}`, old)
    }
    const again = await server.replicate(body)
    assert.equal((again.json as { no_changes?: boolean }).no_changes, true, again.text)
    for (const name of [source, target]) {
      const { session_id } = (await local(name, base)).json as { session_id: unknown }
      assert.equal(session_id, checkpoint.session_id)
    }
  })
})

describe('a selector', () => {
  it('names the replication in whatever way it is written, those of ids included', async () => {
    const body = { source: server.url(source), target: server.url(target) }
    const first = await server.replicate({ ...body, selector: { _id: 'd3', n: { $gt: 1 } } })
    assert.equal(first.status, 200, first.text)
    assert.equal((await server.ask('GET', `/${target}/d3`)).status, 200)
    const selector = { $and: [{ _id: { $eq: 'd3' } }, { n: { $gt: 1 } }] }
    const second = await server.replicate({ ...body, selector })
    assert.equal((second.json as { no_changes?: boolean }).no_changes, true, second.text)
    const wrong = await server.replicate({ ...body, selector: { n: { $odd: 1 } } })
    assert.equal(wrong.status, 400, wrong.text)
  })
})
