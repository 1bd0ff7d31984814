import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../../../../src/base/errors.ts'
import { inject } from '../../../../src/http/kit/inject.ts'
import { dispatch } from '../../../../src/http/kit/lifecycle.ts'
import { emptyReply, jsonReply, streamReply } from '../../../../src/http/kit/reply.ts'
import { pieces, tinyServer } from './tiny-api.ts'

describe('the life of a request', () => {
  it('goes url, preflight, identify, admit, method, handle, decorate, log', async () => {
    const steps: string[] = []
    const tiny = tinyServer({
      routes: {
        '/{db}': (_request, params, user) => {
          steps.push(`handle ${params.get('db')} ${user}`)
          return jsonReply(200, '{"ok":true}')
        },
      },
      api: {
        preflight: request => {
          steps.push(`preflight ${request.segments.join()}`)
          return undefined
        },
        identify: async () => {
          await sleep(1)
          steps.push('identify')
          return 'ann'
        },
        admit: async (match, _request, user) => {
          await sleep(1)
          steps.push(`admit ${match.params.get('db')} ${user}`)
        },
        decorate: (_request, user) => {
          steps.push(`decorate ${user}`)
          return ['X-User', user ?? '']
        },
      },
    })
    const answer = await inject(tiny.server, { url: '/x' })
    assert.equal(answer.text, '{"ok":true}\n')
    assert.equal(answer.headers['x-user'], 'ann')
    const order = ['preflight x', 'identify', 'admit x ann', 'handle x ann', 'decorate ann']
    assert.deepEqual(steps, order)
    const { durationMs, requestId, ...entry } = tiny.entries[0] ?? assert.fail('no entry')
    assert.ok(durationMs > 0)
    assert.equal(requestId, answer.headers['x-svc-request-id'])
    assert.deepEqual(entry, {
      peer: '127.0.0.1',
      host: 'injected',
      user: 'ann',
      method: 'GET',
      target: '/x',
      route: '/{db}',
      requestBytes: 0,
      responseBytes: 12,
      status: 200,
      outcome: 'ok',
    })
  })

  it('answers a preflight before anybody is asked who he is', async () => {
    const tiny = tinyServer({
      routes: {},
      api: {
        preflight: () => emptyReply(204, ['X-Early', 'yes']),
        identify: () => assert.fail('not asked'),
      },
    })
    const answer = await inject(tiny.server, { method: 'OPTIONS', url: '/x' })
    assert.equal(answer.status, 204)
    assert.equal(answer.headers['content-length'], undefined)
  })

  it('checks the method only after the user was admitted', async () => {
    const tiny = tinyServer({
      routes: { '/x': () => jsonReply(200, '1') },
      api: {
        admit: (_match, _request, user) => {
          if (user !== 'ann') throw new Failure('unauthorized')
        },
      },
    })
    const put = { method: 'PUT', url: '/x' }
    assert.equal((await inject(tiny.server, put)).status, 401)
    const headers = { Authorization: 'ann' }
    const answer = await inject(tiny.server, { ...put, headers })
    assert.equal(answer.status, 405)
    assert.match(answer.text, /Only GET allowed/)
  })

  it('asks the fallback when no route matches', async () => {
    const tiny = tinyServer({
      routes: {},
      api: {
        fallback: (request, user) => jsonReply(404, JSON.stringify([request.segments, user])),
      },
    })
    const answer = await inject(tiny.server, { url: '/a/b' })
    assert.equal(answer.text, '[["a","b"],"nobody"]\n')
  })

  it('presents failures of every step, with the decoration of the others', async () => {
    const fail = (): never => {
      throw new Failure('request_invalid', { reason: 'no' })
    }
    const failLater = async (): Promise<never> => fail()
    const apis = [
      { preflight: fail },
      { identify: fail },
      { identify: failLater },
      { admit: fail },
      { admit: failLater },
      { handle: fail },
      { handle: failLater },
    ]
    for (const api of apis) {
      const decorated = { ...api, decorate: () => ['X-Always', 'yes'] }
      const tiny = tinyServer({ routes: { '/x': () => jsonReply(200, '1') }, api: decorated })
      const answer = await inject(tiny.server, { url: '/x' })
      assert.equal(answer.status, 400, String(Object.keys(api)))
      assert.equal(answer.headers['x-always'], 'yes')
      assert.equal(answer.text, '{"error":"request_invalid","reason":"no"}\n')
    }
  })

  it('presents bad targets', async () => {
    const tiny = tinyServer({
      routes: { '/{x}': () => jsonReply(200, '1') },
      request: { url: { plusIsSpace: true, uriBytesMax: 20 } },
    })
    assert.equal((await inject(tiny.server, { url: '/%zz' })).status, 400)
    assert.equal((await inject(tiny.server, { url: `/${'x'.repeat(20)}` })).status, 414)
    assert.equal((await inject(tiny.server, { url: '/fine' })).status, 200)
  })

  it('lets segments that are not UTF-8 through, marked: what they mean is for the API to say', async () => {
    const tiny = tinyServer({
      routes: { '/{x}': request => jsonReply(200, String(request.url.invalidUtf8At)) },
    })
    assert.equal((await inject(tiny.server, { url: '/%ff' })).text, '0\n')
    assert.equal((await inject(tiny.server, { url: '/%C3%A9' })).text, '-1\n')
  })

  it('logs unexpected errors with their stack and answers 500 without it', async () => {
    const tiny = tinyServer({
      routes: {
        '/x': () => {
          throw new TypeError('oops')
        },
      },
    })
    const answer = await inject(tiny.server, { url: '/x' })
    assert.equal(answer.status, 500)
    assert.doesNotMatch(answer.text, /oops|at /)
    const line = JSON.parse(tiny.lines[0] ?? '')
    assert.equal(line.level, 'error')
    assert.equal(line.requestId, answer.headers['x-svc-request-id'])
    assert.match(line.error.stack, /TypeError: oops\n +at /)
  })

  it('answers a bare 500 when even the presenter fails', async () => {
    const tiny = tinyServer({
      routes: { '/x': () => ({ status: 200, headers: ['X-Bad', 'line\nbreak'], body: 'x' }) },
      api: {
        presentFailure: () => {
          throw new Error('presenter')
        },
      },
    })
    const answer = await inject(tiny.server, { url: '/x' })
    assert.equal(answer.status, 500)
    assert.equal(answer.text, '')
    assert.equal(tiny.entries.length, 1)
  })

  it('presents a bad header of a handler as an unexpected error', async () => {
    const tiny = tinyServer({
      routes: { '/x': () => ({ status: 200, headers: ['X-Bad', 'line\nbreak'], body: 'x' }) },
    })
    const answer = await inject(tiny.server, { url: '/x' })
    assert.equal(answer.status, 500)
    assert.match(answer.text, /unexpected/)
  })

  it('turns an error before the first byte of a stream into an ordinary answer', async () => {
    async function* broken(): AsyncGenerator<string> {
      await sleep(1)
      if (Date.now() > 0) throw new Failure('request_invalid', { reason: 'early' })
      yield ''
    }
    const tiny = tinyServer({ routes: { '/x': () => streamReply(200, [], broken()) } })
    const answer = await inject(tiny.server, { url: '/x' })
    assert.equal(answer.status, 400)
    assert.match(answer.text, /early/)
    assert.deepEqual(
      tiny.entries.map(entry => [entry.status, entry.outcome]),
      [[400, 'ok']],
    )
  })

  it('cuts the connection when a stream fails later, and logs it', async () => {
    async function* broken(): AsyncGenerator<string> {
      yield 'x'.repeat(40_000)
      throw new Error('late')
    }
    const tiny = tinyServer({ routes: { '/x': () => streamReply(200, [], broken()) } })
    const answer = await inject(tiny.server, { url: '/x' })
    assert.equal(answer.status, 200)
    assert.equal(answer.complete, false)
    assert.match(tiny.lines.join(), /late/)
    assert.deepEqual(
      tiny.entries.map(entry => [entry.status, entry.outcome]),
      [[200, 'cut']],
    )
  })

  it('lets a handler send the request on to another place', async () => {
    const tiny = tinyServer({
      routes: {
        '/old/{name}': {
          POST: (request, params, user) => {
            const target = `/new/${params.get('name')}?x=1`
            const headers = { 'x-extra': 'more' }
            return dispatch(tiny.api, request.redirect({ target, method: 'PUT', headers }), user)
          },
        },
        '/new/{name}': {
          PUT: async (request, params) => {
            const body = (await request.bytes()).toString()
            const seen = [
              params.get('name'),
              request.query.get('x'),
              request.header('x-extra'),
              body,
            ]
            return jsonReply(200, JSON.stringify([...seen, request.header('host')]))
          },
        },
      },
    })
    const answer = await inject(tiny.server, { method: 'POST', url: '/old/me', body: 'text' })
    assert.equal(answer.text, '["me","1","more","text","injected"]\n')
  })

  it('streams rows', async () => {
    const tiny = tinyServer({
      routes: {
        '/x': () => streamReply(200, [], pieces<Buffer | string>('a', Buffer.from('b'), 'c')),
      },
    })
    const answer = await inject(tiny.server, { url: '/x' })
    assert.equal(answer.text, 'abc')
    assert.equal(answer.headers['transfer-encoding'], 'chunked')
  })
})
