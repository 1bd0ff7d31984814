/** Two more clients as people use them: a backup of ten thousand documents and its restore, and nano's replication calls. */
import assert from 'node:assert/strict'
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import {
  contentsOf,
  type ReplicationServer,
  startReplicationServer,
  until,
} from '../support/replication-pair.ts'

type Done = (error: Error | null, data: { total: number }) => void
interface Backup {
  backup(url: string, target: Writable, options: object, done: Done): void
  restore(source: Readable, url: string, options: object, done: Done): void
}
interface Nano {
  readonly db: {
    create(name: string): Promise<unknown>
    replicate(source: string, target: string, options?: object): Promise<{ ok: boolean }>
    readonly replication: {
      enable(source: string, target: string, options?: object): Promise<{ id: string; rev: string }>
      query(id: string): Promise<Record<string, unknown>>
      disable(id: string, rev: string): Promise<{ ok: boolean }>
    }
  }
}

const require = createRequire(import.meta.url)
const couchbackup = require('@cloudant/couchbackup') as Backup
const nano = require('nano') as (url: string) => Nano

let server: ReplicationServer
const folder = mkdtempSync(join(tmpdir(), 'gurney-backup-'))
before(async () => {
  server = await startReplicationServer()
})
after(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

const finished = (work: (done: Done) => void): Promise<number> =>
  new Promise((resolve, reject) => {
    work((error, data) => (error ? reject(error) : resolve(data.total)))
  })

describe('couchbackup', () => {
  it('saves and restores ten thousand documents', async () => {
    await server.make('original', 'restored')
    for (let at = 0; at < 10_000; at += 2000) {
      const docs = Array.from({ length: 2000 }, (_, n) => ({ _id: `d${at + n}`, n: at + n }))
      await server.ask('POST', '/original/_bulk_docs', { docs })
    }
    const file = join(folder, 'backup.txt')
    const log = join(folder, 'backup.log')
    const saved = await finished(done =>
      couchbackup.backup(server.url('original'), createWriteStream(file), { log }, done),
    )
    assert.equal(saved, 10_000)
    const restored = await finished(done =>
      couchbackup.restore(createReadStream(file), server.url('restored'), {}, done),
    )
    assert.equal(restored, 10_000)
    const count = async (name: string) =>
      ((await server.ask('GET', `/${name}`)).json as { doc_count: number }).doc_count
    assert.equal(await count('restored'), 10_000)
    const { json } = await server.ask('GET', '/restored/d9999')
    const { json: original } = await server.ask('GET', '/original/d9999')
    assert.deepEqual(json, original)
  })
})

describe('nano', () => {
  it('replicates by request and by document', async () => {
    const client = nano(server.url(''))
    for (const name of ['_replicator', 'from', 'to']) await client.db.create(name)
    await server.ask('PUT', '/from/a', { n: 1 })
    assert.equal((await client.db.replicate('from', 'to')).ok, true)
    assert.deepEqual(await contentsOf(server, 'to'), await contentsOf(server, 'from'))
    await server.ask('PUT', '/from/b', { n: 2 })
    const [source, target] = [server.url('from'), server.url('to')]
    const { id } = await client.db.replication.enable(source, target)
    await until('it is completed', async () => {
      const { _replication_state: state } = await client.db.replication.query(id)
      return state === 'completed'
    })
    const { _rev } = await client.db.replication.query(id)
    assert.equal((await client.db.replication.disable(id, String(_rev))).ok, true)
    assert.deepEqual(await contentsOf(server, 'to'), await contentsOf(server, 'from'))
  })
})
