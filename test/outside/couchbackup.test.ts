/** @cloudant/couchbackup, unmodified from npm: a backup of ten thousand documents, restored elsewhere. */
import assert from 'node:assert/strict'
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type OutsideServer, startOutside } from './test-server.ts'

type Done = (error: Error | null, data: { total: number }) => void

const { backup, restore } = createRequire(import.meta.url)('@cloudant/couchbackup') as {
  backup(url: string, target: NodeJS.WritableStream, options: object, done: Done): void
  restore(source: NodeJS.ReadableStream, url: string, options: object, done: Done): void
}

const COUNT = 10_000

describe('couchbackup', () => {
  let outside: OutsideServer
  const folder = mkdtempSync(join(tmpdir(), 'gurney-backup-'))
  before(async () => {
    outside = await startOutside()
  })
  after(async () => {
    await outside.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('backs up and restores ten thousand documents', { timeout: 120_000 }, async () => {
    const file = join(folder, 'backup.jsonl')
    await call('PUT', 'source')
    for (let start = 0; start < COUNT; start += 1000) {
      const docs = Array.from({ length: 1000 }, (_, n) => ({
        _id: `doc-${start + n}`,
        n: start + n,
        text: 'x'.repeat(200),
      }))
      await call('POST', 'source/_bulk_docs', { docs })
    }
    const saved = await promised(done =>
      backup(outside.url('source'), createWriteStream(file), {}, done),
    )
    assert.equal(saved.total, COUNT)
    await call('PUT', 'target')
    const restored = await promised(done =>
      restore(createReadStream(file), outside.url('target'), {}, done),
    )
    assert.equal(restored.total, COUNT)
    const [before, after] = await Promise.all(
      ['source', 'target'].map(name => call('GET', `${name}/_all_docs?include_docs=true`)),
    )
    assert.deepEqual(after, before)
  })

  async function call(method: string, path: string, body?: unknown): Promise<unknown> {
    const url = new URL(outside.url(path))
    const authorization = `Basic ${Buffer.from('admin:pass').toString('base64')}`
    const response = await fetch(`${url.origin}${url.pathname}${url.search}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    assert.ok(response.ok, `${method} ${path}: ${response.status}`)
    return response.json()
  }
})

const promised = (start: (done: Done) => void): Promise<{ total: number }> =>
  new Promise((resolve, reject) => start((error, data) => (error ? reject(error) : resolve(data))))
