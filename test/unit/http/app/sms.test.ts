/** `/api/sms` of the gateway application, the hooks of aggregators, and their keys. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { as, startApplication, type TestApplication } from '../../../support/application.ts'
import type { Answer } from '../../../support/start-server.ts'

const FORMS = {
  F: {
    meta: { code: 'F', label: { en: 'Flag' } },
    fields: {
      patient_id: { type: 'string', labels: { tiny: { en: 'pid' } }, required: true },
      notes: { type: 'string', labels: { tiny: { en: 'not' } } },
    },
  },
}

let application: TestApplication

before(async () => {
  application = await startApplication({ svc_httpd_auth: { secret: 'a secret of the server' } })
  await settings({ forms: FORMS, default_country_code: 254 })
})
after(() => application.close())

const settings = async (body: object): Promise<void> => {
  const { status } = await application.ask('PUT', '/api/v1/settings?replace=true', { body })
  assert.equal(status, 200)
}

const visit = (body: unknown): Promise<Answer> => application.ask('POST', '/api/sms', { body })

const documents = async (): Promise<Record<string, unknown>[]> => {
  const { json } = await application.ask('GET', '/svc/_all_docs?include_docs=true')
  const { rows } = json as { rows: { doc: Record<string, unknown> }[] }
  return rows.map(({ doc }) => doc).filter(({ type }) => type === 'data_record')
}

const get = async (id: string): Promise<Record<string, unknown>> =>
  (await application.ask('GET', `/svc/${id}`)).json as Record<string, unknown>

const removeRecords = async (): Promise<void> => {
  const docs = (await documents()).map(({ _id, _rev }) => ({ _id, _rev, _deleted: true }))
  await application.ask('POST', '/svc/_bulk_docs', { body: { docs } })
}

const outgoing = (id: string, uuid: string, more: object = {}) => ({
  _id: id,
  type: 'data_record',
  kujua_message: true,
  form: null,
  reported_date: 1_700_000_000_000,
  errors: [],
  tasks: [{ messages: [{ uuid, to: '0700000001', message: 'hello' }], state: 'pending', ...more }],
})

const taskOf = async (id: string): Promise<Record<string, unknown>> => {
  const { tasks } = (await get(id)) as { tasks: Record<string, unknown>[] }
  return tasks[0] as Record<string, unknown>
}

const states = ({ state_history: history }: Record<string, unknown>): string[] =>
  (history as { state: string }[]).map(({ state }) => state)

describe('the gateway', () => {
  beforeEach(removeRecords)

  it('finds what it looks for', async () => {
    const { status, json } = await application.ask('GET', '/api/sms')
    assert.equal(status, 200)
    assert.deepEqual(json, { 'medic-gateway': true, 'svc-gateway': true })
    assert.equal((await application.ask('GET', '/api/sms/')).status, 200)
  })

  it('needs the permission', async () => {
    for (const method of ['GET', 'POST']) {
      const body = method === 'POST' ? { body: {} } : {}
      const officer = await application.ask(method, '/api/sms', { user: as('officer'), ...body })
      assert.equal(officer.status, 403)
      assert.deepEqual(officer.json, { code: 403, error: 'Insufficient privileges' })
      assert.equal((await application.ask(method, '/api/sms', { user: null, ...body })).status, 401)
    }
  })

  it('may come without anything', async () => {
    for (const body of [{}, { messages: null, updates: null }, { messages: [], updates: [] }]) {
      const { status, json } = await visit(body)
      assert.equal(status, 200)
      assert.deepEqual(json, { messages: [] })
    }
  })

  it('is refused with what is no list, or no JSON', async () => {
    const { status, json } = await visit({ messages: 'x' })
    assert.equal(status, 400)
    assert.deepEqual(json, { code: 400, error: '`messages` must be an array' })
    assert.equal((await visit({ updates: {} })).status, 400)
    const headers = { 'Content-Type': 'text/plain' }
    const text = await application.ask('POST', '/api/sms', { body: '{}', headers })
    assert.equal(text.status, 400)
    assert.deepEqual(text.json, { code: 400, error: 'Content-Type must be application/json' })
    const broken = { body: '{', headers: { 'Content-Type': 'application/json' } }
    assert.equal((await application.ask('POST', '/api/sms', broken)).status, 500)
  })

  it('brings messages, which become records once', async () => {
    const messages = [
      { id: 'a-1', from: '0700000001', content: 'F 12345 fever', sms_sent: 1, sms_received: 2 },
      { id: 'a-2', from: '+254700000002', content: 'hello' },
    ]
    assert.equal((await visit({ messages })).status, 200)
    assert.equal((await visit({ messages })).status, 200)
    const records = await documents()
    assert.equal(records.length, 2)
    const report = records.find(({ form }) => form === 'F')
    assert.ok(report)
    assert.deepEqual(report.fields, { patient_id: '12345', notes: 'fever' })
    assert.equal(report.from, '+254700000001')
    assert.ok(Number(report.reported_date) > 1_700_000_000_000)
    assert.deepEqual(report.sms_message, {
      type: 'sms_message',
      message: 'F 12345 fever',
      form: 'F',
      from: '0700000001',
      gateway_ref: 'a-1',
    })
  })

  it('stores a message once that is brought several times at once', async () => {
    const body = { messages: [{ id: 'race', from: '+254700000001', content: 'again' }] }
    const answers = await Promise.all([visit(body), visit(body), visit(body)])
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    )
    assert.equal((await documents()).length, 1)
  })

  it('means two messages by the same id twice in one visit', async () => {
    const messages = ['one', 'two'].map(content => ({ id: 'same', from: '+254700000001', content }))
    await visit({ messages })
    assert.equal((await documents()).length, 2)
  })

  it('is passed over with messages that lack something', async () => {
    const whole = { id: 'x', from: '+254700000001', content: 'text' }
    const messages = [
      { ...whole, id: undefined },
      { ...whole, from: '' },
      { ...whole, content: '' },
      null,
      'text',
    ]
    assert.equal((await visit({ messages })).status, 200)
    assert.deepEqual(await documents(), [])
  })

  it('takes what is said in any script, however odd', async () => {
    const texts = ['नमस्ते ०१२', '\u0000\u200b', '\ud800', '🎉'.repeat(500), '!!!', '1!F!']
    const messages = texts.map((content, at) => ({
      id: `odd-${at}`,
      from: '+254700000001',
      content,
    }))
    assert.equal((await visit({ messages })).status, 200)
    assert.equal((await documents()).length, texts.length)
  })

  it('fetches messages until it says something about them', async () => {
    await application.store(outgoing('out-1', 'uuid-1'))
    const expected = { messages: [{ content: 'hello', to: '+254700000001', id: 'uuid-1' }] }
    assert.deepEqual((await visit({})).json, expected)
    assert.deepEqual((await visit({})).json, expected)
    const task = await taskOf('out-1')
    assert.equal(task.state, 'forwarded-to-gateway')
    assert.deepEqual(states(task), ['forwarded-to-gateway'])
    const updates = [{ id: 'uuid-1', status: 'UNSENT' }]
    assert.deepEqual((await visit({ updates })).json, { messages: [] })
  })

  it('fetches twenty-five, those first that were due first', async () => {
    const docs = Array.from({ length: 30 }, (_, at) => {
      const due = new Date(1_700_000_000_000 - at * 1000).toISOString()
      return outgoing(`due-${at}`, `u-${at}`, { due })
    })
    await application.store(...docs)
    const { messages } = (await visit({})).json as { messages: { id: string }[] }
    assert.equal(messages.length, 25)
    assert.equal(messages[0]?.id, 'u-29')
    assert.equal(messages[24]?.id, 'u-5')
  })

  it('fetches nothing where another service takes messages', async () => {
    await application.store(outgoing('other', 'uuid-other'))
    await settings({ sms: { outgoing_service: 'rapidpro' } })
    assert.deepEqual((await visit({})).json, { messages: [] })
    await settings({ sms: { outgoing_service: 'medic-gateway' } })
    assert.equal(((await visit({})).json as { messages: [] }).messages.length, 1)
    await settings({ sms: {} })
  })

  it('says what became of messages', async () => {
    const said = [
      ['UNSENT', 'received-by-gateway'],
      ['PENDING', 'forwarded-by-gateway'],
      ['SENT', 'sent'],
      ['DELIVERED', 'delivered'],
      ['FAILED', 'failed'],
      ['NEVER_HEARD', 'unrecognised'],
      [undefined, 'unrecognised'],
    ] as const
    const docs = said.map((_, at) => outgoing(`said-${at}`, `said-${at}`))
    await application.store(...docs)
    const updates = said.map(([status], at) => ({ id: `said-${at}`, status }))
    assert.equal((await visit({ updates })).status, 200)
    for (const [at, [, state]] of said.entries()) {
      assert.equal((await taskOf(`said-${at}`)).state, state)
    }
    const odd = await taskOf('said-5')
    assert.deepEqual(odd.state_details, { gateway_status: 'NEVER_HEARD' })
  })

  it('says why, and the same twice changes nothing', async () => {
    await application.store(outgoing('why', 'uuid-why'))
    const updates = [{ id: 'uuid-why', status: 'FAILED', reason: 'no signal' }]
    await visit({ updates })
    const first = await get('why')
    await visit({ updates })
    assert.deepEqual(await get('why'), first)
    const task = await taskOf('why')
    assert.deepEqual(task.state_details, { reason: 'no signal' })
    const [entry] = task.state_history as { state: string; timestamp: string }[]
    assert.match(String(entry?.timestamp), /^\d{4}-\d\d-\d\dT.*Z$/)
    assert.deepEqual(entry, {
      state: 'failed',
      state_details: { reason: 'no signal' },
      timestamp: entry?.timestamp,
    })
  })

  it('says several things about one message, in order, and things about messages nobody knows', async () => {
    await application.store(outgoing('many', 'uuid-many'))
    const updates = [
      { id: 'uuid-many', status: 'PENDING' },
      { id: 'nobody', status: 'SENT' },
      null,
      { status: 'SENT' },
      { id: 'uuid-many', status: 'SENT' },
    ]
    assert.equal((await visit({ updates })).status, 200)
    assert.deepEqual(states(await taskOf('many')), ['forwarded-by-gateway', 'sent'])
  })

  it('says things about scheduled messages too', async () => {
    const messages = [{ uuid: 'uuid-later', to: '+254700000001', message: 'come' }]
    const task = { due: '2023-01-01T00:00:00.000Z', state: 'pending', messages }
    await application.store({
      _id: 'later',
      type: 'data_record',
      form: 'F',
      scheduled_tasks: [task],
    })
    await visit({ updates: [{ id: 'uuid-later', status: 'DELIVERED' }] })
    const { scheduled_tasks: tasks } = (await get('later')) as {
      scheduled_tasks: { state: string }[]
    }
    assert.equal(tasks[0]?.state, 'delivered')
  })
})

const credential = (key: string, body: string, more: object = {}): Promise<Answer> =>
  application.ask('PUT', `/api/v1/credentials/${key}`, {
    body,
    headers: { 'Content-Type': 'text/plain' },
    ...more,
  })

describe('credentials', () => {
  it('are set by admins and kept encrypted', async () => {
    const { status, json } = await credential('some%20service:key', 'hush')
    assert.equal(status, 200)
    assert.deepEqual(json, { ok: true })
    const id = encodeURIComponent('credential:some%20service%3Akey')
    const stored = (await application.ask('GET', `/svc-vault/${id}`)).json as { password: string }
    assert.match(stored.password, /^[0-9a-f]{32}:[0-9a-f]{32}$/)
    assert.doesNotMatch(stored.password, /hush/)
    assert.equal((await credential('some%20service:key', 'hush again')).status, 200)
  })

  it('are refused without a secret, without a key, and to others', async () => {
    const empty = await credential('x', '')
    assert.equal(empty.status, 400)
    assert.deepEqual(empty.json, { code: 400, error: 'Missing required request body' })
    const binary = { headers: { 'Content-Type': 'application/octet-stream' } }
    assert.equal((await credential('x', 'secret', binary)).status, 400)
    const nameless = await application.ask('PUT', '/api/v1/credentials/', { body: 'x' })
    assert.equal(nameless.status, 400)
    assert.deepEqual(nameless.json, { code: 400, error: 'Missing required param "key"' })
    assert.equal((await credential('x', 'secret', { user: as('officer') })).status, 403)
    assert.equal((await credential('x', 'secret', { user: null })).status, 401)
    assert.equal((await application.ask('GET', '/api/v1/credentials/x')).status, 405)
  })
})

const form = (path: string, fields: Record<string, string>): Promise<Answer> =>
  application.ask('POST', `/api/v1/sms/africastalking/${path}`, {
    user: null,
    body: new URLSearchParams(fields).toString(),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  })

describe("Africa's Talking", () => {
  const KEY = 'incoming-messages?key=open'
  const REPORTS = 'delivery-reports?key=open'
  beforeEach(removeRecords)

  it('is refused without the key', async () => {
    for (const path of ['incoming-messages', 'delivery-reports']) {
      const nothing = await form(`${path}?key=open`, { id: '1' })
      assert.equal(nothing.status, 403)
      assert.deepEqual(nothing.json, { code: 403, error: 'No incoming key configured' })
    }
    await credential('africastalking.com:incoming', 'open')
    for (const query of ['', '?key=', '?key=Open', '?key=openn']) {
      const wrong = await form(`incoming-messages${query}`, { id: '1' })
      assert.equal(wrong.status, 403)
      assert.deepEqual(wrong.json, { code: 403, error: 'Incorrect token' })
    }
  })

  it('brings messages', async () => {
    const message = { id: 'at-1', from: '+254700000001', text: 'F 12345 café', date: 'x' }
    assert.deepEqual((await form(KEY, message)).json, { saved: 1 })
    assert.deepEqual((await form(KEY, message)).json, { saved: 0 })
    const [record, ...more] = await documents()
    assert.equal(more.length, 0)
    assert.deepEqual(record?.fields, { patient_id: '12345', notes: 'café' })
    assert.deepEqual((await form(KEY, { id: 'at-2', from: '+254700000001' })).json, { saved: 0 })
  })

  it('must say something', async () => {
    for (const path of [KEY, REPORTS]) {
      const { status, json } = await form(path, {})
      assert.equal(status, 400)
      assert.deepEqual(json, { code: 400, error: 'Request body is required' })
    }
    const asJson = await application.ask('POST', `/api/v1/sms/africastalking/${KEY}`, { body: {} })
    assert.equal(asJson.status, 400)
  })

  it('says what became of messages', async () => {
    const said = [
      ['Sent', 'forwarded-by-gateway'],
      ['Submitted', 'sent'],
      ['Buffered', 'sent'],
      ['Success', 'delivered'],
      ['Rejected', 'failed'],
      ['Failed', 'failed'],
    ] as const
    for (const [status, state] of said) {
      await application.store(outgoing(`at-${status}`, `at-${status}`, { gateway_ref: status }))
      const { json } = await form(REPORTS, { id: status, status })
      assert.deepEqual(json, { saved: 1 })
      const task = await taskOf(`at-${status}`)
      assert.equal(task.state, state)
      assert.equal(task.gateway_ref, status)
    }
  })

  it('says why a message failed, and is told what it should not say', async () => {
    await application.store(outgoing('at-why', 'at-why', { gateway_ref: 'ref' }))
    await form(REPORTS, { id: 'ref', status: 'Failed', failureReason: 'InvalidNumber' })
    assert.deepEqual((await taskOf('at-why')).state_details, { reason: 'InvalidNumber' })
    assert.deepEqual((await form(REPORTS, { id: 'nobody', status: 'Sent' })).json, { saved: 0 })
    const { status, json } = await form(REPORTS, { id: 'ref', status: 'Lost' })
    assert.equal(status, 400)
    const error = 'Unknown status code: "Lost", gateway message reference: "ref"'
    assert.deepEqual(json, { code: 400, error })
    assert.equal((await form(REPORTS, { id: 'ref', status: 'constructor' })).status, 400)
  })
})

describe('RapidPro', () => {
  const PATHS = ['/api/v2/sms/rapidpro', '/api/v1/sms/rapidpro', '/api/v1/sms/radpidpro']
  const hook = (path: string, body: unknown, token?: string): Promise<Answer> =>
    application.ask('POST', `${path}/incoming-messages`, {
      user: null,
      body,
      headers: token === undefined ? {} : { Authorization: token },
    })
  beforeEach(removeRecords)

  it('is refused without the token', async () => {
    const [path = ''] = PATHS
    const nothing = await hook(path, {})
    assert.equal(nothing.status, 403)
    assert.deepEqual(nothing.json, { code: 403, error: 'Missing authorization token' })
    const early = await hook(path, {}, 'Token right')
    assert.deepEqual(early.json, { code: 403, error: 'No incoming key configured' })
    await credential('rapidpro:incoming', 'right')
    const wrong = await hook(path, {}, 'Token wrong')
    assert.equal(wrong.status, 403)
    assert.deepEqual(wrong.json, { code: 403, error: 'Incorrect token' })
    assert.equal((await hook(path, {}, 'Bearer right')).status, 403)
  })

  it('brings messages, on every path', async () => {
    for (const [at, path] of PATHS.entries()) {
      const message = { id: `rp-${at}`, from: '+254700000001', content: 'hello' }
      const { status, json } = await hook(path, message, 'Token right')
      assert.equal(status, 200)
      assert.deepEqual(json, { saved: 1 })
      const again = await hook(path, message, 'Token right')
      assert.equal(again.status, 400)
      assert.deepEqual(again.json, { code: 400, error: 'Message was not saved' })
    }
    assert.equal((await documents()).length, 3)
  })

  it('must say something', async () => {
    const { status, json } = await hook(PATHS[0] as string, {}, 'Token right')
    assert.equal(status, 400)
    assert.deepEqual(json, { code: 400, error: 'Request body is required' })
  })

  it('is the only other one', async () => {
    const { status } = await application.ask('POST', '/api/v1/sms/nobody/incoming-messages')
    assert.equal(status, 404)
  })
})
