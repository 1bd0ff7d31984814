/**
 * Replication over a connection that fails in every way at once: nothing is lost, nothing is done twice that counts, and
 * a replication that gave up goes on where it was.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Fault, startFaultProxy } from '../support/fault-proxy.ts'
import {
  contentsOf,
  type ReplicationServer,
  startReplicationServer,
} from '../support/replication-pair.ts'
import { ADMIN } from '../support/start-server.ts'

const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000)

function randomFrom(start: number): () => number {
  let state = start >>> 0 || 1
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 4294967296
  }
}

let server: ReplicationServer
before(async () => {
  server = await startReplicationServer({
    settings: { replicator: { connection_timeout: '400', worker_batch_size: '20' } },
  })
})
after(() => server.close())

async function fill(name: string): Promise<void> {
  const docs = Array.from({ length: 120 }, (_, n) => ({
    _id: `d${n}`,
    n,
    text: 'x'.repeat(n % 50),
  }))
  await server.ask('POST', `/${name}/_bulk_docs`, { docs })
  for (let n = 0; n < 6; n++) {
    const data = Buffer.alloc(3000 * n + 1, `${n}`).toString('base64')
    const files = {
      a: { content_type: 'image/png', data },
      b: { content_type: 'text/plain', data },
    }
    await server.ask('PUT', `/${name}/files${n}`, { _attachments: files })
  }
  await server.ask('PUT', `/${name}/_design/x`, { views: {} })
}

const through = (address: string, name: string): string =>
  `${address.replace('//', `//${ADMIN}@`)}/${name}`

const KINDS: Fault[] = ['refuse', 'error', 'lose', 'cut', 'shorten', 'delay', 'silence']

describe(`replication over a bad connection (GURNEY_SEED=${seed})`, () => {
  for (const kind of KINDS) {
    it(`loses nothing when a fifth of all requests meet "${kind}"`, async () => {
      const random = randomFrom(seed + KINDS.indexOf(kind))
      const proxy = await startFaultProxy(server.address, () => (random() < 0.2 ? kind : 'none'))
      const [source, target] = [`s-${kind}`, `t-${kind}`]
      await server.make(source, target)
      await fill(source)
      const body = {
        source: through(proxy.address, source),
        target: through(proxy.address, target),
        retries_per_request: 12,
      }
      const answer = await server.replicate(body)
      await proxy.close()
      assert.equal(answer.status, 200, answer.text)
      assert.ok((proxy.counts[kind] ?? 0) > 0)
      const { history } = answer.json as { history: { doc_write_failures: number }[] }
      assert.equal(history[0]?.doc_write_failures, 0)
      assert.deepEqual(await contentsOf(server, target), await contentsOf(server, source))
    })
  }

  it('goes on from its checkpoint after it gave up, and does not begin anew', async () => {
    let isBroken = false
    const writes = { first: 0, second: 0 }
    const proxy = await startFaultProxy(server.address, ({ url }) => {
      const isWrite = url?.includes('_bulk_docs') === true
      if (isBroken && isWrite) return 'error'
      if (isWrite) writes[isBroken ? 'second' : 'first']++
      return 'none'
    })
    await server.make('s-resume', 't-resume')
    await fill('s-resume')
    const body = {
      source: through(proxy.address, 's-resume'),
      target: through(proxy.address, 't-resume'),
      retries_per_request: 1,
    }
    assert.equal((await server.replicate(body)).status, 200)
    const docs = Array.from({ length: 40 }, (_, n) => ({ _id: `more${n}` }))
    await server.ask('POST', '/s-resume/_bulk_docs', { docs })
    isBroken = true
    assert.equal((await server.replicate(body)).status, 500)
    isBroken = false
    const again = await server.replicate(body)
    await proxy.close()
    const { history } = again.json as { history: Record<string, unknown>[] }
    assert.equal(history[0]?.missing_checked, 40)
    assert.equal(history[0]?.docs_written, 40)
    assert.deepEqual(await contentsOf(server, 't-resume'), await contentsOf(server, 's-resume'))
  })

  it('writes no checkpoint past documents that did not arrive', async () => {
    const proxy = await startFaultProxy(server.address, ({ url }) =>
      url?.includes('files3') && url.includes('new_edits') ? 'error' : 'none',
    )
    await server.make('s-stuck', 't-stuck')
    await fill('s-stuck')
    const target = through(proxy.address, 't-stuck')
    const body = { source: server.url('s-stuck'), target, retries_per_request: 1 }
    assert.equal((await server.replicate(body)).status, 500)
    await proxy.close()
    await server.replicate({ source: server.url('s-stuck'), target: server.url('t-stuck') })
    assert.deepEqual(await contentsOf(server, 't-stuck'), await contentsOf(server, 's-stuck'))
  })

  it('notices that its target was replaced meanwhile', async () => {
    await server.make('s-new', 't-new')
    await fill('s-new')
    let isReplaced = false
    const proxy = await startFaultProxy(server.address, ({ url }) => {
      if (url?.includes('_revs_diff') && !isReplaced) {
        isReplaced = true
        return 'delay'
      }
      return 'none'
    })
    // The life of a database is told by the second it began in: the next one must not begin in the same.
    await new Promise(resolve => setTimeout(resolve, 1100))
    const body = { source: server.url('s-new'), target: through(proxy.address, 't-new') }
    const running = server.replicate(body)
    while (!isReplaced) await new Promise(resolve => setTimeout(resolve, 5))
    await server.ask('DELETE', '/t-new')
    await server.make('t-new')
    const first = await running
    assert.equal(first.status, 500, first.text)
    assert.equal((await server.replicate(body)).status, 200)
    await proxy.close()
    assert.deepEqual(await contentsOf(server, 't-new'), await contentsOf(server, 's-new'))
  })
})
