/** Forms get their page and their model when they are stored, and are left alone when nothing changes. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Application } from '../../../../src/app/application.ts'
import type { Document } from '../../../../src/app/documents/document.ts'
import { FormWatcher } from '../../../../src/app/forms/form-watcher.ts'
import { generateFormAttachments } from '../../../../src/app/forms/generate-attachments.ts'
import { startApplication, type TestApplication } from '../../../support/application.ts'
import { formDocument, xform } from '../../../support/xforms.ts'

type Stubs = Record<string, { content_type: string }>

let app: TestApplication
let application: Application
before(async () => {
  app = await startApplication()
  assert.ok(app.server.application)
  application = app.server.application
})
after(() => app.close())

const read = async (id: string): Promise<Document> =>
  (await app.ask('GET', `/svc/${encodeURIComponent(id)}`)).json as Document
const attachment = async (id: string, name: string): Promise<string> =>
  (await app.ask('GET', `/svc/${encodeURIComponent(id)}/${name}`)).text
const namesOf = ({ _attachments }: Document): string[] => Object.keys(_attachments as Stubs).sort()
const generate = async (id: string): Promise<boolean> => {
  const document = await application.data.get(id)
  assert.ok(document)
  return generateFormAttachments(application, document, application.formTransformer)
}

describe('what is generated of a form', () => {
  it('is kept beside it, in one more revision', async () => {
    await app.store({
      ...formDocument('form:one', xform({ id: 'one', title: 'One' }), { internalId: 'one' }),
      title: 'One',
    })
    assert.equal(await generate('form:one'), true)
    const form = await read('form:one')
    assert.match(form._rev as string, /^2-/)
    assert.equal(form.title, 'One')
    assert.deepEqual(namesOf(form), ['form.html', 'model.xml', 'xml'])
    const stubs = form._attachments as Stubs
    assert.equal(stubs['form.html']?.content_type, 'text/html')
    assert.equal(stubs['model.xml']?.content_type, 'text/xml')
    assert.match(await attachment('form:one', 'form.html'), /^<form [^>]*data-form-id="one">/)
    assert.match(await attachment('form:one', 'model.xml'), /^<model>/)
    assert.equal(await attachment('form:one', 'xml'), xform({ id: 'one', title: 'One' }))
  })

  it('is not written again while it is the same', async () => {
    const { _rev } = await read('form:one')
    assert.equal(await generate('form:one'), false)
    assert.equal((await read('form:one'))._rev, _rev)
  })

  it('is not wanted for other apps, nor of what is no form', async () => {
    const xml = xform({})
    await app.store(
      formDocument('form:collect', xml, { context: { collect: true } }),
      formDocument('other', xml, {}),
      { ...formDocument('form:note', xml, {}), type: 'note' },
      { _id: 'form:bare', type: 'form' },
    )
    for (const id of ['form:collect', 'other', 'form:note', 'form:bare']) {
      assert.equal(await generate(id), false, id)
      assert.match((await read(id))._rev as string, /^1-/)
    }
  })

  it('does not overwrite what somebody wrote meanwhile', async () => {
    await app.store(formDocument('form:raced', xform({ id: 'old' }), {}))
    const stale = await application.data.get('form:raced')
    assert.ok(stale)
    await app.ask('PUT', '/svc/form:raced', {
      body: { ...formDocument('form:raced', xform({ id: 'new' }), {}), _rev: stale._rev },
    })
    assert.equal(
      await generateFormAttachments(application, stale, application.formTransformer),
      false,
    )
    assert.deepEqual(namesOf(await read('form:raced')), ['xml'])
  })
})

describe('the watcher of forms', () => {
  const failures: Record<string, unknown>[] = []
  const until = async (id: string, isDone: (form: Document) => boolean): Promise<Document> => {
    for (;;) {
      const form = await read(id)
      if (isDone(form)) return form
      await delay(20)
    }
  }
  const isComplete = (form: Document): boolean => namesOf(form).includes('form.html')
  const watched = async (run: () => Promise<void>): Promise<void> => {
    const watcher = new FormWatcher({
      data: application.data,
      transformer: application.formTransformer,
      onFailure: (_, facts) => failures.push(facts),
    })
    watcher.start()
    watcher.start()
    try {
      await run()
    } finally {
      await watcher.close()
    }
  }

  it('makes good what was stored while it did not run', async () => {
    await app.store(formDocument('form:before', xform({ id: 'before' }), {}))
    await watched(async () => {
      await until('form:before', isComplete)
    })
  })

  it('follows changes, and passes by what cannot be transformed', async () => {
    await watched(async () => {
      await app.store(
        formDocument('form:broken', '<a>', {}),
        formDocument('form:after', xform({}), {}),
      )
      const { _rev } = await until('form:after', isComplete)
      assert.deepEqual(
        failures.map(({ form }) => form),
        ['form:broken'],
      )
      const body = { ...formDocument('form:after', xform({ id: 'changed' }), {}), _rev }
      assert.equal((await app.ask('PUT', '/svc/form:after', { body })).status, 201)
      await until('form:after', isComplete)
      assert.match(await attachment('form:after', 'form.html'), /data-form-id="changed"/)
      const gone = await read('form:after')
      await app.ask('DELETE', `/svc/form:after?rev=${gone._rev}`)
      await app.store(formDocument('form:last', xform({}), {}))
      await until('form:last', isComplete)
    })
    assert.equal((await app.ask('GET', '/svc/form:after')).status, 404)
  })
})
