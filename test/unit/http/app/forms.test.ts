/** `/api/v1/forms`: lists, downloads and validation over HTTP. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { as, startApplication, type TestApplication } from '../../../support/application.ts'
import { formDocument, xform } from '../../../support/xforms.ts'

const OPEN_ROSA = { 'X-OpenRosa-Version': '1.0' }

const VISIT = xform({ id: 'visit', title: 'Visit' })
const STOCK = xform({ id: 'stock.count', title: 'Stock <&> count', version: '2024-01' })
const NAMELESS = xform({ title: 'Nameless' })

describe('forms', () => {
  let app: TestApplication
  before(async () => {
    app = await startApplication()
    const forms = { REG: { meta: { code: 'REG' }, fields: { name: { type: 'string' } } } }
    assert.equal((await app.ask('PUT', '/api/v1/settings', { body: { forms } })).status, 200)
    await app.store(
      formDocument('form:visit', VISIT, { internalId: 'visit' }),
      formDocument('form:stock', STOCK, {
        internalId: 'stock.count',
        context: { collect: true },
        name: 'stock.xml',
        type: 'text/xml',
      }),
      formDocument('form:nameless', NAMELESS, { internalId: 'n', context: { collect: true } }),
      formDocument('form:broken', '<a>', { internalId: 'broken', context: { collect: true } }),
      { _id: 'form:other', type: 'note', internalId: 'other' },
      { _id: 'form:empty', type: 'form', internalId: 'empty' },
      formDocument('form:generated', '<model/>', { internalId: 'generated', name: 'model.xml' }),
      formDocument('form:idless', VISIT, {}),
    )
  })
  after(() => app.close())

  it('are listed by name, in the order of their documents, those of messages last', async () => {
    for (const user of [undefined, as('worker'), as('analyst')]) {
      const answer = await app.ask('GET', '/api/v1/forms', user === undefined ? {} : { user })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
      const names = ['broken.xml', 'n.xml', 'stock.count.xml', 'visit.xml', 'REG.json']
      assert.deepEqual(answer.json, names)
    }
    assert.equal((await app.ask('GET', '/api/v1/forms/')).status, 200)
    const { status, json } = await app.ask('GET', '/api/v1/forms', { user: null })
    assert.equal(status, 401)
    assert.deepEqual(json, { code: 401, error: 'unauthorized' })
  })

  it('are listed for OpenRosa clients, those meant for them', async () => {
    const answer = await app.ask('GET', '/api/v1/forms', {
      headers: { ...OPEN_ROSA, Host: 'clinic.example' },
    })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['content-type'], 'text/xml; charset=utf-8')
    assert.equal(answer.headers['x-openrosa-version'], '1.0')
    const md5 = (text: string): string => createHash('md5').update(text).digest('hex')
    assert.equal(
      answer.text,
      `<?xml version="1.0" encoding="UTF-8"?>
<xforms xmlns="http://openrosa.org/xforms/xformsList">
  <xform>
    <name>Nameless</name>
    <formID>data</formID>
    <hash>md5:${md5(NAMELESS)}</hash>
    <downloadUrl>http://clinic.example/api/v1/forms/data.xml</downloadUrl>
  </xform>
  <xform>
    <name>Stock &lt;&amp;&gt; count</name>
    <formID>stock.count</formID>
    <version>2024-01</version>
    <hash>md5:${md5(STOCK)}</hash>
    <downloadUrl>http://clinic.example/api/v1/forms/stock.count.xml</downloadUrl>
  </xform>
</xforms>`,
    )
    const again = await app.ask('GET', '/api/v1/forms', {
      headers: { 'X-OpenRosa-Version': '', Host: 'clinic.example' },
    })
    assert.equal(again.text, answer.text)
  })

  it('are downloaded as they are stored', async () => {
    const visit = await app.ask('GET', '/api/v1/forms/visit.xml', { user: as('worker') })
    assert.equal(visit.status, 200)
    assert.equal(visit.headers['content-type'], 'application/xml')
    assert.equal(visit.text, VISIT)
    const stock = await app.ask('GET', '/api/v1/forms/stock.count.xml')
    assert.equal(stock.headers['content-type'], 'text/xml')
    assert.equal(stock.text, STOCK)
    const reg = await app.ask('GET', '/api/v1/forms/reg.json')
    assert.equal(reg.status, 200)
    assert.deepEqual(reg.json, { meta: { code: 'REG' }, fields: { name: { type: 'string' } } })
  })

  const refusals: readonly (readonly [path: string, status: number, error: string])[] = [
    ['xml', 400, 'Invalid form name (form="", format="xml")'],
    ['.xml', 400, 'Invalid form name (form="", format="xml")'],
    ['visit.html', 400, 'Invalid file format (format="html")'],
    ['Visit.xml', 404, 'Form not found: Visit (xml)'],
    ['form:visit.xml', 404, 'Form not found: form:visit (xml)'],
    ['empty.xml', 404, 'Form not found: empty (xml)'],
    ['generated.xml', 404, 'Form not found: generated (xml)'],
    ['visit.json', 404, 'Form not found: visit (json)'],
    ['__proto__.json', 404, 'Form not found: __proto__ (json)'],
  ]
  for (const [path, code, error] of refusals) {
    it(`refuse ${path}`, async () => {
      const answer = await app.ask('GET', `/api/v1/forms/${path}`)
      assert.equal(answer.status, code)
      assert.deepEqual(answer.json, { code, error })
    })
  }

  it('have an empty list where there are none', async () => {
    const empty = await startApplication()
    try {
      assert.deepEqual((await empty.ask('GET', '/api/v1/forms')).json, [])
      const { text } = await empty.ask('GET', '/api/v1/forms', { headers: OPEN_ROSA })
      assert.equal(
        text,
        '<?xml version="1.0" encoding="UTF-8"?>\n<xforms xmlns="http://openrosa.org/xforms/xformsList"/>',
      )
    } finally {
      await empty.close()
    }
  })

  describe('are validated', () => {
    const validate = (
      body: string | Buffer,
      {
        type = 'application/xml',
        user,
        headers = {},
      }: { type?: string; user?: string | null; headers?: Record<string, string> } = {},
    ) =>
      app.ask('POST', '/api/v1/forms/validate', {
        body,
        headers: { 'Content-Type': type, ...headers },
        ...(user === undefined ? {} : { user }),
      })

    it('and are right', async () => {
      for (const type of ['application/xml', 'text/xml; charset=utf-8', 'text/plain', 'text/csv']) {
        const answer = await validate(VISIT, { type })
        assert.equal(answer.status, 200, answer.text)
        assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
        assert.equal(answer.text, '{"ok":true}')
      }
      assert.equal((await validate(VISIT, { user: as('officer') })).status, 200)
      assert.equal((await validate('<anything/>')).status, 200)
      const accented = xform({ title: 'Santé' })
      const latin = Buffer.from(accented, 'latin1')
      assert.equal((await validate(latin)).status, 400)
      assert.equal((await validate(latin, { type: 'text/xml; charset=iso-8859-1' })).status, 200)
    })

    const wrong: readonly (readonly [what: string, xml: string, error: RegExp])[] = [
      ['broken XML', '<a><b></a>', /^Error transforming xml\.[\s\S]*mismatch/],
      ['no XML', 'hello', /^Error transforming xml\./],
      ['an unknown entity', '<a>&x;</a>', /^Error transforming xml\.[\s\S]*Entity 'x'/],
      [
        'a doctype',
        '<!DOCTYPE a><a/>',
        /^Form XML must not declare a DOCTYPE or external entities\./,
      ],
      [
        'laughs by the billion',
        '<!doctype a [<!entity a "ha"><!entity b "&a;&a;">]><a>&b;</a>',
        /^Form XML must not declare/,
      ],
      [
        'a file of the server',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        /^Form XML must not declare/,
      ],
      [
        'relative bindings',
        xform({ binds: '<bind nodeset="name" type="string"/>' }),
        /^Error transforming xml\.[\s\S]*WARNING: Found binding\(s\) with relative nodeset/,
      ],
      [
        'a submission',
        xform({ binds: '<submission action="x"/>' }),
        /ERROR: Submissions element\(s\) not supported\./,
      ],
    ]
    for (const [what, xml, error] of wrong) {
      it(`and have ${what}`, async () => {
        const answer = await validate(xml, { headers: { Accept: 'text/plain' } })
        assert.equal(answer.status, 400)
        const shown = answer.json as Record<string, string>
        assert.deepEqual(Object.keys(shown), ['error'])
        assert.match(shown.error as string, error)
      })
    }

    it('and are not there', async () => {
      for (const answer of [await validate(''), await validate('{}', { type: 'image/png' })]) {
        assert.equal(answer.status, 400)
        assert.match((answer.json as { error: string }).error, /^Error transforming xml\./)
      }
    })

    it('by those who may', async () => {
      const stranger = await validate(VISIT, { user: null, headers: { Accept: 'text/html' } })
      assert.equal(stranger.status, 401)
      assert.equal(stranger.text, '{"error":"Not logged in"}')
      assert.ok(stranger.headers['logout-authorization'])
      const worker = await validate(VISIT, {
        user: as('worker'),
        headers: { Accept: 'text/plain' },
      })
      assert.equal(worker.status, 403)
      assert.equal(worker.text, '{"error":"Insufficient privileges"}')
    })

    it('and are not larger than a request may be', async () => {
      const answer = await validate(Buffer.alloc(33 * 1024 * 1024, 0x20))
      assert.equal(answer.status, 413)
      assert.equal(answer.text, '{"error":"Payload Too Large"}')
    })
  })
})
