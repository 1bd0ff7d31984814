/** Pushing pending messages to a service, with the whole application behind and a real service before it. */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { ApplicationContext } from '../../../../src/app/application-context.ts'
import { settingsOf } from '../../../../src/app/settings/settings.ts'
import { MessagePusher } from '../../../../src/app/sms/message-pusher.ts'
import { startApplication, type TestApplication } from '../../../support/application.ts'

let application: TestApplication
let service: Server
let url: string
const sent: string[] = []
const refused = new Set<string>()
let status = 'wired'

before(async () => {
  application = await startApplication({ svc_httpd_auth: { secret: 'secret' } })
  service = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    if (request.method === 'GET') {
      response.end(JSON.stringify({ results: [{ status }] }))
      return
    }
    const { text } = JSON.parse(body) as { text: string }
    sent.push(text)
    response.statusCode = refused.has(text) ? 500 : 201
    response.end(JSON.stringify({ id: `ref-${text}` }))
  })
  await new Promise<void>(resolve => service.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
})
after(async () => {
  service.close()
  await application.close()
})

const never = new AbortController().signal
const lacks: string[] = []

function pusher(sms: object): MessagePusher {
  const whole = application.server.application
  assert.ok(whole)
  const { data, credentials } = whole
  const context: ApplicationContext = { data, settings: settingsOf({ sms }), clock: Date.now }
  return new MessagePusher({
    context: async () => context,
    credentials,
    onLack: what => lacks.push(what),
  })
}

const stateOf = async (id: string): Promise<unknown> => {
  const { json } = await application.ask('GET', `/svc/${id}`)
  return (json as { tasks: { state: string }[] }).tasks[0]?.state
}

describe('the pusher', () => {
  it('leaves messages to the gateway, and says what it lacks', async () => {
    await pusher({}).run(never)
    assert.deepEqual(lacks, [])
    for (const outgoing_service of ['nobody', 'rapidpro', 'africas-talking', 'nepal-doit-sms']) {
      await pusher({ outgoing_service }).run(never)
    }
    await pusher({ outgoing_service: 'rapidpro', rapidpro: { url } }).run(never)
    assert.deepEqual(lacks, [
      'a known `sms.outgoing_service`',
      '`sms.rapidpro.url`',
      '`sms.africas_talking.username`',
      '`sms.nepal_doit_sms.url`',
      'the credential `rapidpro:outgoing`',
    ])
  })

  it('sends each message once, passes over those that cannot be sent, asks what became of them', async () => {
    const headers = { 'Content-Type': 'text/plain' }
    await application.ask('PUT', '/api/v1/credentials/rapidpro:outgoing', {
      body: 'token',
      headers,
    })
    const names = Array.from({ length: 60 }, (_, at) => `m${at}`)
    await application.store(
      ...names.map((name, at) => ({
        _id: name,
        type: 'data_record',
        reported_date: at,
        tasks: [{ state: 'pending', messages: [{ uuid: name, to: '+254700', message: name }] }],
      })),
      // A text that is not made yet waits for whoever makes it.
      { _id: 'unmade', type: 'data_record', reported_date: 0, tasks: [{ state: 'pending' }] },
    )
    refused.add('m3')
    const push = pusher({ outgoing_service: 'rapidpro', rapidpro: { url: `${url}/` } })
    await Promise.all([push.run(never), push.run(never)])
    assert.deepEqual([...new Set(sent)].sort(), [...names].sort())
    assert.equal(sent.filter(name => name !== 'm3').length, 59)
    assert.equal(await stateOf('m3'), 'pending')
    assert.equal(await stateOf('m59'), 'forwarded-by-gateway')
    refused.clear()
    status = 'delivered'
    await push.run(never)
    assert.equal(await stateOf('m3'), 'delivered')
    assert.equal(await stateOf('m59'), 'delivered')
    const { json } = await application.ask('GET', '/svc/m59')
    const [task] = (
      json as { tasks: { gateway_ref: string; state_history: { state: string }[] }[] }
    ).tasks
    assert.equal(task?.gateway_ref, 'ref-m59')
    assert.deepEqual(
      task?.state_history.map(({ state }) => state),
      ['received-by-gateway', 'forwarded-by-gateway', 'delivered'],
    )
  })
})
