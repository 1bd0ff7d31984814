/** PouchDB as people use it: push, pull, live sync both ways, attachments, conflicts and filters against our server. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, describe, it } from 'node:test'
import {
  contentsOf,
  type ReplicationServer,
  startReplicationServer,
  until,
} from '../support/replication-pair.ts'

interface Pouch {
  put(document: object): Promise<{ rev: string }>
  get(id: string, options?: object): Promise<Record<string, unknown>>
  bulkDocs(documents: object[], options?: object): Promise<unknown>
  allDocs(): Promise<{ total_rows: number }>
  putAttachment(id: string, name: string, data: Buffer, type: string): Promise<{ rev: string }>
  getAttachment(id: string, name: string): Promise<Buffer>
  sync(remote: Pouch, options?: object): Promise<unknown> & { cancel(): void }
  destroy(): Promise<void>
  readonly replicate: {
    to(remote: Pouch, options?: object): Promise<{ docs_written: number; ok: boolean }>
    from(remote: Pouch, options?: object): Promise<{ docs_written: number; ok: boolean }>
  }
}
interface PouchClass {
  new (name: string, options?: object): Pouch
  plugin(plugin: unknown): PouchClass
}

const require = createRequire(import.meta.url)
const PouchDB = (require('pouchdb') as PouchClass).plugin(require('pouchdb-adapter-memory'))

let server: ReplicationServer
const pouches: Pouch[] = []
before(async () => {
  server = await startReplicationServer()
})
after(async () => {
  for (const pouch of pouches) await pouch.destroy()
  await server.close()
})

function newPouch(name: string): Pouch {
  const pouch = new PouchDB(`${name}-${Date.now()}`, { adapter: 'memory' })
  pouches.push(pouch)
  return pouch
}
const remote = (name: string): Pouch => new PouchDB(server.url(name), { skip_setup: true })

describe('PouchDB', () => {
  it('pushes and pulls documents, conflicts and attachments', async () => {
    await server.make('push')
    const from = newPouch('from')
    await from.bulkDocs(Array.from({ length: 250 }, (_, n) => ({ _id: `d${n}`, n })))
    await from.putAttachment('file', 'a.png', Buffer.from('contents'), 'image/png')
    const conflict = { _id: 'd1', _rev: '1-ff', n: -1, _revisions: { start: 1, ids: ['ff'] } }
    await from.bulkDocs([conflict], { new_edits: false })
    const pushed = await from.replicate.to(remote('push'))
    assert.deepEqual([pushed.ok, pushed.docs_written], [true, 252])
    const again = await from.replicate.to(remote('push'))
    assert.equal(again.docs_written, 0)
    const to = newPouch('to')
    await to.replicate.from(remote('push'))
    assert.equal((await to.allDocs()).total_rows, 251)
    assert.equal((await to.getAttachment('file', 'a.png')).toString(), 'contents')
    const { _conflicts } = await to.get('d1', { conflicts: true })
    assert.equal((_conflicts as unknown[]).length, 1)
  })

  it('keeps in step with the server, live and in both directions', async () => {
    await server.make('live')
    const pouch = newPouch('live')
    const sync = pouch.sync(remote('live'), { live: true, retry: true })
    const ended = sync.catch(() => {})
    await pouch.put({ _id: 'mine' })
    await until(
      'the server has it',
      async () => (await server.ask('GET', '/live/mine')).status === 200,
    )
    await server.ask('PUT', '/live/yours', { n: 1 })
    const has = (id: string) =>
      pouch.get(id).then(
        () => true,
        () => false,
      )
    await until('the client has it', () => has('yours'))
    const { json } = await server.ask('GET', '/live/mine')
    await server.ask('DELETE', `/live/mine?rev=${(json as { _rev: string })._rev}`)
    await until('it is gone there too', async () => !(await has('mine')))
    sync.cancel()
    await ended
  })

  it('pulls what a filter, a selector or a list of ids lets through', async () => {
    await server.make('narrow')
    const filters = { odd: 'function (doc) { return doc.n % 2 === 1 }' }
    await server.ask('PUT', '/narrow/_design/f', { filters })
    const docs = Array.from({ length: 10 }, (_, n) => ({ _id: `d${n}`, n }))
    await server.ask('POST', '/narrow/_bulk_docs', { docs })
    const cases: [object, number][] = [
      [{ filter: 'f/odd' }, 5],
      [{ selector: { n: { $gt: 6 } } }, 3],
      [{ doc_ids: ['d1', 'd2', 'none'] }, 2],
    ]
    for (const [index, [options, count]] of cases.entries()) {
      const pouch = newPouch(`narrow${index}`)
      const { docs_written } = await pouch.replicate.from(remote('narrow'), options)
      assert.equal(docs_written, count)
    }
  })

  it('shares its checkpoints with nobody else, and its documents with our own replication', async () => {
    await server.make('both', 'copy')
    const pouch = newPouch('both')
    await pouch.bulkDocs([{ _id: 'a' }, { _id: 'b' }])
    await pouch.replicate.to(remote('both'))
    assert.equal(
      (await server.replicate({ source: 'both', target: server.url('copy') })).status,
      200,
    )
    assert.deepEqual(await contentsOf(server, 'copy'), await contentsOf(server, 'both'))
  })
})
