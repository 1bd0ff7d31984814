/** Forms in a whole server: whichever worker takes one, one process completes it, once; and nothing is left behind. */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startProcess } from '../support/start-process.ts'
import { formDocument, xform } from '../support/xforms.ts'

interface Form {
  readonly _id: string
  readonly _rev: string
  readonly _attachments: Record<string, unknown>
}

it('forms are completed by one process of the tree', { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gurney-forms-test-'))
  const temporary = join(folder, 'tmp')
  // The process that transforms is nobody's, and must get there.
  chmodSync(folder, 0o755)
  mkdirSync(temporary)
  chmodSync(temporary, 0o755)
  const flags = ['--admin', 'admin:pass', '--workers', '2']
  const server = await startProcess(join(folder, 'data'), flags, { TMPDIR: temporary })
  const authorization = `Basic ${Buffer.from('admin:pass').toString('base64')}`
  const ask = (path: string, init: RequestInit & { type?: string } = {}): Promise<Response> =>
    fetch(new URL(path, server.url()), {
      ...init,
      headers: {
        Authorization: authorization,
        'Content-Type': init.type ?? 'application/json',
        Connection: 'close',
      },
    })
  try {
    const ids = Array.from({ length: 5 }, (_, index) => `form:f${index}`)
    const docs = ids.map(id => formDocument(id, xform({ id }), { internalId: id }))
    const body = JSON.stringify({ docs })
    assert.equal((await ask('/svc/_bulk_docs', { method: 'POST', body })).status, 201)
    for (const id of ids) {
      let form = (await (await ask(`/svc/${id}`)).json()) as Form
      while (!('model.xml' in form._attachments)) {
        await delay(50)
        form = (await (await ask(`/svc/${id}`)).json()) as Form
      }
      assert.match(form._rev, /^2-/)
      assert.deepEqual(Object.keys(form._attachments).sort(), ['form.html', 'model.xml', 'xml'])
    }
    const validated = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        ask('/api/v1/forms/validate', {
          method: 'POST',
          body: index % 2 === 0 ? xform({}) : '<a>',
          type: 'application/xml',
        }),
      ),
    )
    const statuses = validated.map(({ status }) => status)
    assert.deepEqual(statuses, [200, 400, 200, 400, 200, 400, 200, 400])
  } finally {
    assert.equal(await server.stop(), 0)
    const left = readdirSync(temporary).filter(name => name.startsWith('gurney-forms-'))
    rmSync(folder, { recursive: true, force: true })
    assert.deepEqual(left, [])
  }
})
