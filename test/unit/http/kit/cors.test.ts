import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  CORS_DEFAULTS,
  type CorsSettings,
  corsHeaders,
  preflightReply,
} from '../../../../src/http/kit/cors.ts'

const settings: CorsSettings = {
  ...CORS_DEFAULTS,
  origins: ['http://a.example'],
  credentials: true,
}
const ask = (method: string, headers: Record<string, string>) => ({
  method,
  header: (name: string) => headers[name],
})
const preflight = {
  origin: 'http://a.example',
  'access-control-request-method': 'PUT',
}

describe('preflightReply', () => {
  it('answers 204 with what is allowed', () => {
    const headers = {
      ...preflight,
      'access-control-request-headers': 'Content-Type, authorization',
    }
    assert.deepEqual(preflightReply(ask('OPTIONS', headers), settings), {
      status: 204,
      headers: [
        'Access-Control-Allow-Origin',
        'http://a.example',
        'Access-Control-Allow-Credentials',
        'true',
        'Access-Control-Allow-Headers',
        'Content-Type, authorization',
        'Access-Control-Allow-Methods',
        'CONNECT, COPY, DELETE, GET, HEAD, OPTIONS, POST, PUT, TRACE',
        'Access-Control-Max-Age',
        '600',
      ],
    })
  })

  it('sends an empty list when no headers were asked for', () => {
    const reply = preflightReply(ask('OPTIONS', preflight), settings)
    assert.equal(reply?.headers[reply.headers.indexOf('Access-Control-Allow-Headers') + 1], '')
  })

  it('lets go on what is not an allowed preflight', () => {
    const refused = [
      ask('GET', preflight),
      ask('OPTIONS', { origin: 'http://a.example' }),
      ask('OPTIONS', { ...preflight, origin: 'http://b.example' }),
      ask('OPTIONS', { 'access-control-request-method': 'PUT' }),
      ask('OPTIONS', { ...preflight, 'access-control-request-method': 'PATCH' }),
      ask('OPTIONS', { ...preflight, 'access-control-request-headers': 'accept, x-other' }),
    ]
    for (const request of refused) assert.equal(preflightReply(request, settings), undefined)
  })
})

describe('corsHeaders', () => {
  it('echoes the origin even for a star, and exposes headers', () => {
    const anybody: CorsSettings = { ...CORS_DEFAULTS, origins: '*' }
    assert.deepEqual(corsHeaders(ask('GET', { origin: 'http://z.example' }), anybody), [
      'Access-Control-Allow-Origin',
      'http://z.example',
      'Access-Control-Expose-Headers',
      'content-type, cache-control, accept-ranges, etag, server, x-couch-request-id, ' +
        'x-couch-update-newrev, x-couchdb-body-time',
    ])
  })

  it('says nothing to strangers and to those without an origin', () => {
    assert.deepEqual(corsHeaders(ask('GET', { origin: 'http://z.example' }), settings), [])
    assert.deepEqual(corsHeaders(ask('GET', {}), settings), [])
  })
})
