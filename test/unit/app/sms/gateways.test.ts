/** Services that take messages to phones, asked over real HTTP; and the pusher that hands them messages. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { Gateway } from '../../../../src/app/sms/gateway.ts'
import { AfricasTalkingGateway } from '../../../../src/app/sms/gateways/africas-talking.ts'
import { NepalDoitGateway } from '../../../../src/app/sms/gateways/nepal-doit.ts'
import { RapidProGateway } from '../../../../src/app/sms/gateways/rapid-pro.ts'

interface Call {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

type Answerer = (call: Call) => { status?: number; body?: unknown } | 'cut'

let service: Server
let base: string
let calls: Call[] = []
let answer: Answerer = () => ({})

before(async () => {
  service = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const { method = '', url = '', headers } = request
    const call = { method, url, headers, body }
    calls.push(call)
    const answered = answer(call)
    if (answered === 'cut') {
      request.socket.destroy()
      return
    }
    const { status = 200, body: sent = {} } = answered
    response.writeHead(status, { 'Content-Type': 'application/json' })
    response.end(typeof sent === 'string' ? sent : JSON.stringify(sent))
  })
  await new Promise<void>(resolve => service.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
})
after(() => service.close())
beforeEach(() => {
  calls = []
})

const never = new AbortController().signal
const message = (id = 'm') => ({ id, to: '+254700', content: 'héllo & you' })
const sendOne = async (gateway: Gateway) => (await gateway.send([message()], never))[0]

/** What is no answer to rely on: the message waits. */
const NONSENSE: readonly Answerer[] = [
  () => 'cut',
  () => ({ body: '<html>' }),
  () => ({ body: [] }),
  () => ({ status: 500 }),
  () => ({ status: 503, body: 'x'.repeat(2 * 1024 * 1024) }),
]

describe("Africa's Talking", () => {
  const gateway = () =>
    new AfricasTalkingGateway({ username: 'us', from: '2020', apiKey: 'k', baseUrl: base })
  const answering = (statusCode: number) => () => ({
    body: { SMSMessageData: { Recipients: [{ statusCode, status: 'Why', messageId: 'ATX' }] } },
  })

  it('gets a form with the key', async () => {
    answer = answering(101)
    await sendOne(gateway())
    const [call] = calls
    assert.equal(call?.method, 'POST')
    assert.equal(call?.url, '/version1/messaging')
    assert.equal(call?.headers.apikey, 'k')
    const form = Object.fromEntries(new URLSearchParams(call?.body))
    assert.deepEqual(form, { username: 'us', to: '+254700', message: 'héllo & you', from: '2020' })
  })

  const states = [
    [100, 'forwarded-by-gateway'],
    [101, 'sent'],
    [102, 'received-by-gateway'],
    [401, 'failed'],
    [403, 'failed'],
    [404, 'failed'],
    [406, 'denied'],
    [407, 'failed'],
    [402, undefined],
    [405, undefined],
    [500, undefined],
    [501, undefined],
    [502, undefined],
    [999, undefined],
  ] as const
  for (const [code, state] of states) {
    it(`${code} is ${state ?? 'tried again'}`, async () => {
      answer = answering(code)
      const status = await sendOne(gateway())
      assert.equal(status?.state, state)
      if (state === undefined) return
      assert.equal(status?.gatewayRef, 'ATX')
      const isExplained = state === 'failed' || state === 'denied'
      assert.deepEqual(status?.details, isExplained ? { reason: 'Why' } : undefined)
    })
  }

  it('may answer nonsense', async () => {
    for (const nonsense of NONSENSE) {
      answer = nonsense
      assert.equal(await sendOne(gateway()), undefined)
    }
  })
})

describe('RapidPro', () => {
  const gateway = () => new RapidProGateway({ url: base, token: 't' })

  it('gets a broadcast', async () => {
    answer = () => ({ status: 201, body: { id: 12, status: 'queued' } })
    assert.deepEqual(await sendOne(gateway()), {
      id: 'm',
      state: 'received-by-gateway',
      gatewayRef: '12',
    })
    const [call] = calls
    assert.equal(call?.url, '/api/v2/broadcasts.json')
    assert.equal(call?.headers.authorization, 'Token t')
    assert.deepEqual(JSON.parse(call?.body ?? ''), { urns: ['tel:+254700'], text: 'héllo & you' })
  })

  it('may refuse, or answer nonsense', async () => {
    answer = () => ({ status: 400, body: { urns: ['bad'] } })
    assert.equal((await sendOne(gateway()))?.state, 'failed')
    for (const nonsense of NONSENSE) {
      answer = nonsense
      assert.equal(await sendOne(gateway()), undefined)
    }
  })

  it('tells what became of messages', async () => {
    const states = {
      queued: 'received-by-gateway',
      errored: 'received-by-gateway',
      wired: 'forwarded-by-gateway',
      sent: 'sent',
      resent: 'sent',
      delivered: 'delivered',
      failed: 'failed',
    }
    for (const [status, state] of Object.entries(states)) {
      answer = () => ({ body: { results: [{ status }] } })
      const { statuses, isEnough } = await gateway().ask([{ id: 'm', gatewayRef: '1 2' }], never)
      assert.deepEqual(statuses, [{ id: 'm', state, gatewayRef: '1 2' }])
      assert.equal(isEnough, false)
    }
    assert.equal(calls[0]?.url, '/api/v2/messages.json?broadcast=1%202')
    answer = () => ({ body: { results: [{ status: 'lost' }] } })
    assert.deepEqual((await gateway().ask([{ id: 'm', gatewayRef: '1' }], never)).statuses, [])
  })

  it('says when it has had enough', async () => {
    answer = () => ({ status: 429 })
    const many = Array.from({ length: 100 }, (_, at) => ({ id: `${at}`, gatewayRef: `${at}` }))
    const { statuses, isEnough } = await gateway().ask(many, never)
    assert.deepEqual(statuses, [])
    assert.equal(isEnough, true)
    assert.ok(calls.length <= 10, `${calls.length} calls`)
  })
})

describe('the service of Nepal', () => {
  it('gets JSON with a token', async () => {
    const gateway = new NepalDoitGateway({ url: `${base}/sms`, token: 't' })
    answer = () => ({})
    assert.deepEqual(await sendOne(gateway), { id: 'm', state: 'sent' })
    assert.equal(calls[0]?.url, '/sms')
    assert.equal(calls[0]?.headers.authorization, 'Bearer t')
    assert.deepEqual(JSON.parse(calls[0]?.body ?? ''), {
      mobile: '+254700',
      message: 'héllo & you',
    })
    answer = () => ({ status: 400 })
    assert.equal((await sendOne(gateway))?.state, 'failed')
    answer = () => ({ status: 502 })
    assert.equal(await sendOne(gateway), undefined)
  })
})

describe('any of them', () => {
  it('stops when it is told to', async () => {
    const stop = new AbortController()
    answer = () => {
      stop.abort()
      return { status: 201, body: { id: 1 } }
    }
    const many = Array.from({ length: 50 }, (_, at) => message(`${at}`))
    await new RapidProGateway({ url: base, token: 't' }).send(many, stop.signal)
    assert.ok(calls.length <= 10, `${calls.length} calls`)
  })
})
