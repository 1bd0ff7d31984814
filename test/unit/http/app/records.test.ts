/** `/api/v1/records` and `/api/v2/records`: what is stored, what is refused, in which words. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { as, startApplication, type TestApplication } from '../../../support/application.ts'

type Object_ = Record<string, unknown>

const FORMS = {
  YYYZ: {
    meta: { code: 'YYYZ' },
    fields: {
      nurse: { type: 'string', labels: { tiny: 'nur' } },
      week: { type: 'integer', labels: { tiny: 'wk' } },
      year: { type: 'integer', labels: { tiny: 'yr' } },
      visit: { type: 'string', labels: { tiny: 'vis' } },
    },
  },
  F: {
    meta: { code: 'F' },
    fields: {
      patient_id: { type: 'string', labels: { tiny: 'pid' }, required: true },
      notes: { type: 'string', labels: { tiny: 'not' } },
    },
  },
  T: {
    facility_reference: 'clinic',
    fields: {
      clinic: { type: 'string', labels: { tiny: 'c' } },
      'visit.day': { type: 'date', labels: { tiny: 'd' } },
      'visit.is_done': { type: 'boolean', labels: { tiny: 'x' } },
      extra: { type: 'complex', labels: { tiny: 'e' } },
    },
  },
}

const FORM_TYPE = 'application/x-www-form-urlencoded'

describe('records', () => {
  let app: TestApplication
  before(async () => {
    app = await startApplication()
    const body = { forms: FORMS, default_country_code: 55 }
    assert.equal((await app.ask('PUT', '/api/v1/settings', { body })).status, 200)
  })
  after(() => app.close())

  const post = (body: unknown, type: string, url = '/api/v2/records', user?: string | null) =>
    app.ask('POST', url, {
      body,
      headers: { 'Content-Type': type },
      ...(user === undefined ? {} : { user }),
    })
  const send = (fields: Record<string, string>, url?: string) =>
    post(new URLSearchParams(fields).toString(), FORM_TYPE, url)
  const sendJson = (body: unknown, url?: string) =>
    post(typeof body === 'string' ? body : JSON.stringify(body), 'application/json', url)

  async function stored(answer: { status: number; json: unknown; text: string }): Promise<Object_> {
    assert.equal(answer.status, 200, answer.text)
    const { success, id, ...rest } = answer.json as Object_
    assert.equal(success, true)
    assert.deepEqual(rest, {})
    const { _id, _rev, ...record } = (await app.ask('GET', `/svc/${id}`)).json as Object_
    assert.equal(_id, id)
    return record
  }

  const MESSAGE = {
    message: '1!YYYZ!Sam#23#2015#ANC',
    from: '+5511943348031',
    sent_timestamp: '1352399720000',
  }
  const FIELDS = { nurse: 'Sam', week: 23, year: 2015, visit: 'ANC' }

  for (const version of ['v1', 'v2']) {
    it(`are made of messages by ${version}`, async () => {
      assert.deepEqual(await stored(await send(MESSAGE, `/api/${version}/records`)), {
        type: 'data_record',
        from: '+5511943348031',
        form: 'YYYZ',
        errors: [],
        tasks: [],
        fields: FIELDS,
        reported_date: 1352399720000,
        sms_message: {
          type: 'sms_message',
          message: MESSAGE.message,
          form: 'YYYZ',
          reported_date: '1352399720000',
          from: '+5511943348031',
        },
      })
    })

    it(`are made of objects by ${version}`, async () => {
      const meta = { form: 'yyyz', from: '+5511943348031', reported_date: 1352399720000, own: [1] }
      const answer = await sendJson(
        { _meta: meta, NURSE: 'Sam', week: 23, year: 2015, visit: 'ANC', unknown: 1 },
        `/api/${version}/records`,
      )
      assert.deepEqual(await stored(answer), {
        type: 'data_record',
        from: '+5511943348031',
        form: 'YYYZ',
        errors: [],
        tasks: [],
        fields: FIELDS,
        reported_date: 1352399720000,
        sms_message: { ...meta, form: 'YYYZ' },
      })
    })
  }

  it('take a charset and parameters of the type', async () => {
    const latin = await post('message=YYYZ%20Andr%E9&from=1', `${FORM_TYPE}; charset=iso-8859-1`)
    assert.deepEqual((await stored(latin)).fields, { nurse: 'André' })
    const odd = await post('message=YYYZ%20Andr%E9&from=1', `${FORM_TYPE}; charset=utf-8`)
    assert.deepEqual((await stored(odd)).fields, { nurse: 'Andr\ufffd' })
    const json = await post(
      JSON.stringify({ _meta: { form: 'YYYZ' }, nurse: 'नर्स' }),
      'application/json; charset=utf-8',
    )
    assert.deepEqual((await stored(json)).fields, { nurse: 'नर्स' })
    const unknown = await post('message=x&from=1', `${FORM_TYPE}; charset=klingon`)
    assert.equal(unknown.status, 400)
    assert.deepEqual(unknown.json, { code: 400, error: 'unsupported charset "KLINGON"' })
  })

  it('say what is missing in themselves', async () => {
    const { errors, fields, form } = await stored(await send({ message: 'F', from: '1' }))
    assert.deepEqual(errors, [
      { code: 'sys.missing_fields', message: 'Missing or invalid fields: patient_id.' },
    ])
    assert.deepEqual(fields, {})
    assert.equal(form, 'F')
    const json = await stored(await sendJson({ _meta: { form: 'F' }, notes: 7 }))
    assert.deepEqual(json.errors, [
      { code: 'sys.missing_fields', message: 'Missing or invalid fields: patient_id.' },
      {
        code: 'sys.incorrect_type',
        message: 'Incorrect type of field notes, expected string.',
      },
    ])
    assert.equal('from' in json, false)
  })

  it('say in the language of the sender what is wrong', async () => {
    await app.store({
      _id: 'messages-fr',
      type: 'translations',
      code: 'fr',
      generic: { 'sys.missing_fields': 'Il manque: {{fields}}' },
    })
    const v1 = await stored(await send({ message: 'F', from: '1' }, '/api/v1/records?locale=fr'))
    assert.deepEqual(v1.errors, [{ code: 'sys.missing_fields', message: 'Il manque: patient_id' }])
    assert.equal((v1.sms_message as Object_).locale, 'fr')
    const v2 = await stored(await send({ message: 'F', from: '1' }, '/api/v2/records?locale=fr'))
    assert.match(JSON.stringify(v2.errors), /Missing or invalid/)
    assert.equal('locale' in (v2.sms_message as Object_), false)
    const json = await stored(await sendJson({ _meta: { form: 'F', locale: 'fr' } }))
    assert.match(JSON.stringify(json.errors), /Il manque/)
  })

  it('know labels in the language of the sender', async () => {
    const age = { type: 'integer', labels: { tiny: { translation_key: 'label.age' } } }
    await app.ask('PUT', '/api/v1/settings', { body: { forms: { AGE: { fields: { age } } } } })
    await app.store({
      _id: 'messages-sw',
      type: 'translations',
      code: 'sw',
      generic: { 'label.age': 'umri' },
    })
    const given = { message: 'AGE umri 7', from: '1' }
    const sw = await stored(await send(given, '/api/v1/records?locale=sw'))
    assert.deepEqual(sw.fields, { age: 7 })
    assert.deepEqual((await stored(await send(given))).fields, { age: null })
  })

  it('tell of more values than there are fields', async () => {
    const { errors } = await stored(await send({ ...MESSAGE, message: `${MESSAGE.message}#x` }))
    assert.deepEqual(errors, [{ code: 'extra_fields', message: 'Extra fields.' }])
  })

  it('have objects, dates and a facility where the form says so', async () => {
    const message = '1!T!bbz1#2012-03-04#1#'
    const record = await stored(await send({ message, from: '1' }))
    const day = new Date(2012, 2, 4).getTime()
    assert.deepEqual(record.fields, {
      clinic: 'bbz1',
      visit: { day, is_done: true },
      extra: null,
    })
    assert.equal(record.refid, 'BBZ1')
    const given = {
      _meta: { form: 'T' },
      clinic: 'x',
      'visit.day': '2012-03-04',
      'visit.is_done': 0,
      extra: { a: [1] },
    }
    assert.deepEqual((await stored(await sendJson(given))).fields, {
      clinic: 'x',
      visit: { day, is_done: false },
      extra: { a: [1] },
    })
  })

  it('keep plain messages as they are', async () => {
    const record = await stored(await send({ message: 'hello you', from: '' }))
    assert.equal('form' in record, false)
    assert.deepEqual([record.from, record.errors, record.fields], ['', [], {}])
    const { message, form } = record.sms_message as Object_
    assert.deepEqual([message, form], ['hello you', 'HELLO'])
    const empty = await stored(await send({ message: '', from: '1' }))
    assert.deepEqual(empty.errors, [{ code: 'sys.empty', message: 'Message appears empty.' }])
  })

  it('tell of unknown forms where only forms are wanted', async () => {
    await app.ask('PUT', '/api/v1/settings', { body: { forms_only_mode: true } })
    const record = await stored(await send({ message: 'hello you', from: '1' }))
    assert.equal(record.form, 'HELLO')
    assert.deepEqual(record.errors, [
      { code: 'sys.form_not_found', message: "Form 'HELLO' not found." },
    ])
    await app.ask('PUT', '/api/v1/settings', { body: { forms_only_mode: false } })
    assert.equal('form' in (await stored(await send({ message: 'hello', from: '1' }))), false)
  })

  it('read the time in many ways', async () => {
    const at = async (sent: string): Promise<unknown> =>
      (await stored(await send({ message: 'x', from: '1', sent_timestamp: sent }))).reported_date
    assert.equal(await at('1352399720000'), 1352399720000)
    assert.equal(await at('/Date(1352399720000)/'), 1352399720000)
    assert.equal(await at('2012-11-08T18:35:20Z'), 1352399720000)
    const before = Date.now()
    for (const odd of ['soon', '', '9'.repeat(40)]) {
      assert.ok(((await at(odd)) as number) >= before, odd)
    }
    const json = await stored(
      await sendJson({ _meta: { form: 'F', reported_date: '2012-11-08T18:35:20Z' } }),
    )
    assert.equal(json.reported_date, 1352399720000)
  })

  it('make phone numbers whole', async () => {
    const { from, sms_message } = await stored(await send({ message: 'x', from: '11 94334-8031' }))
    assert.equal(from, '+5511943348031')
    assert.equal((sms_message as Object_).from, '11 94334-8031')
    assert.equal((await stored(await send({ message: 'x', from: 'MYBANK' }))).from, 'MYBANK')
  })

  it('cannot be made into something else by names of fields', async () => {
    const forms = { P: { fields: { '__proto__.polluted': { type: 'string' } } } }
    await app.ask('PUT', '/api/v1/settings', { body: { forms } })
    const record = await stored(await send({ message: '1!P!yes', from: '1' }))
    assert.equal(Object.hasOwn(record.fields as object, '__proto__'), true)
    assert.equal(({} as Object_).polluted, undefined)
    for (const form of ['__proto__', 'constructor', 'toString']) {
      assert.equal((await sendJson({ _meta: { form } })).status, 500, form)
    }
  })

  describe('are refused', () => {
    const cases: readonly (readonly [
      what: string,
      body: unknown,
      type: string,
      details?: string,
    ])[] = [
      ['without a sender', 'message=x', FORM_TYPE, 'Missing required value: from'],
      ['without a message', 'from=1', FORM_TYPE, 'Missing required field: message'],
      ['without anything', '', FORM_TYPE, 'Missing required value: from'],
      ['without _meta', '{"a":1}', 'application/json', 'Missing _meta property.'],
      ['with a list', '[]', 'application/json', 'Missing _meta property.'],
      ['with nothing', 'null', 'application/json', 'Missing _meta property.'],
      ['with _meta of another kind', '{"_meta":1}', 'application/json', 'Missing _meta property.'],
      ['without a form', '{"_meta":{}}', 'application/json', 'Missing required field: form'],
      [
        'with an empty form',
        '{"_meta":{"form":""}}',
        'application/json',
        'Missing required field: form',
      ],
      [
        'with an unknown form',
        '{"_meta":{"form":"nope"}}',
        'application/json',
        'Form not found: NOPE',
      ],
      ['with broken JSON', '{"_meta":', 'application/json'],
      ['with bytes that are no text', Buffer.from([0x22, 0xff, 0x22]), 'application/json'],
      ['as XML', '<a/>', 'application/xml'],
      ['as plain text', 'F 1', 'text/plain'],
    ]
    for (const [what, body, type, details] of cases) {
      it(what, async () => {
        const answer = await post(body, type)
        assert.equal(answer.status, 500)
        const shown = { code: 500, error: 'Server error' }
        assert.deepEqual(answer.json, details === undefined ? shown : { ...shown, details })
      })
    }

    it('in text for those who want text', async () => {
      const answer = await app.ask('POST', '/api/v2/records', {
        body: 'message=x',
        headers: { 'Content-Type': FORM_TYPE, Accept: 'text/plain' },
      })
      assert.equal(answer.text, 'Server error: "Missing required value: from"')
    })

    it('for those who may not', async () => {
      const body = 'message=F&from=1'
      assert.equal((await post(body, FORM_TYPE, '/api/v2/records', null)).status, 401)
      const analyst = await post(body, FORM_TYPE, '/api/v2/records', as('analyst'))
      assert.equal(analyst.status, 403)
      assert.deepEqual(analyst.json, { code: 403, error: 'Insufficient privileges' })
      assert.equal((await post(body, FORM_TYPE, '/api/v1/records', as('worker'))).status, 200)
    })

    it('when they are too large', async () => {
      const answer = await post(`message=${'x'.repeat(33 * 1024 * 1024)}`, FORM_TYPE)
      assert.equal(answer.status, 413)
      assert.deepEqual(answer.json, { code: 413, error: 'Payload Too Large' })
    })
  })
})
