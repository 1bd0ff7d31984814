import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Failure } from '../../../../src/base/errors.ts'
import { showEndpoint, showProxy } from '../../../../src/core/replication/endpoint.ts'
import { parseReplication } from '../../../../src/core/replication/replication-request.ts'

const S = 'http://a:b@h/s'
const T = 'http://h/t'
const parse = (more: object = {}) =>
  parseReplication(JSON.stringify({ source: S, target: T, ...more }))

function reasonOf(body: object): unknown {
  try {
    parseReplication(JSON.stringify(body))
  } catch (thrown) {
    assert.ok(thrown instanceof Failure)
    return thrown.detail.reason
  }
  return undefined
}

describe('what a replication is asked to do', () => {
  it('takes the socket options that have an effect, and refuses all others', () => {
    const sockets = (text: unknown) => parse({ socket_options: text }).tuning.sockets
    const both = { keepAlive: true, noDelay: true }
    assert.equal(parse().tuning.sockets, undefined)
    assert.deepEqual(sockets('[]'), both)
    assert.deepEqual(sockets('[{keepalive, true}, {nodelay, false}]'), { ...both, noDelay: false })
    assert.deepEqual(sockets(' [ {nodelay,true},{keepalive,false} ]. '), {
      ...both,
      keepAlive: false,
    })
    for (const text of ['', 'x', '[{sndbuf, 5}]', '[{nodelay, 1}]', '[{nodelay, true},]', '[x]']) {
      const reason = reasonOf({ source: S, target: T, socket_options: text })
      assert.match(String(reason), /^parameter `socket_options` may hold only/)
    }
    assert.match(String(reasonOf({ source: S, target: T, socket_options: 5 })), /must be a string/)
  })

  it('is told where it is wrong in the words of CouchDB', () => {
    const cases: [object, string][] = [
      [{}, 'Missing replicator database'],
      [{ source: S }, 'Missing replicator database'],
      [{ source: S, target: 5 }, 'Missing replicator database'],
      [{ source: S, target: T, doc_ids: 'x' }, 'parameter `doc_ids` must be an array'],
      [{ source: S, target: T, continuous: 'x' }, 'parameter `continuous` must be a boolean'],
      [{ source: S, target: T, selector: [] }, 'parameter `selector` must be a JSON object'],
      [
        { source: S, target: T, selector: {}, doc_ids: [] },
        '`doc_ids`,`filter`,`selector` are mutually exclusive',
      ],
      [
        { source: S, target: T, proxy: 'http://p', source_proxy: 'http://p' },
        '`proxy` is mutually exclusive with `source_proxy`',
      ],
      [{ source: S, target: T, filter: 'x' }, 'Invalid filter. Must match `ddocname/filtername`.'],
      [{ source: 'http://', target: T }, 'endpoint has an invalid url'],
      [{ source: 'ftp://h/x', target: T }, 'endpoint has an invalid url'],
    ]
    for (const [body, reason] of cases) assert.equal(reasonOf(body), reason)
  })

  it('has defaults, and takes numbers that old documents wrote as texts', () => {
    const request = parse({ worker_processes: '7' })
    assert.deepEqual(
      [request.continuous, request.useCheckpoints, request.useBulkGet, request.narrow.kind],
      [false, true, true, 'all'],
    )
    assert.equal(request.tuning.workers, 7)
    assert.match(
      String(reasonOf({ source: S, target: T, http_connections: 0 })),
      /http_connections/,
    )
  })

  it('keeps the numbers of a selector as they are written', () => {
    const text = `{"source":"${S}","target":"${T}","selector":{"n":12345678901234567890,"x":1.0}}`
    const { narrow } = parseReplication(text)
    assert.deepEqual(narrow, { kind: 'selector', selector: '{"n":12345678901234567890,"x":1.0}' })
  })
})

describe('an end of a replication', () => {
  it('logs in with what the URL, the header or the auth object says', () => {
    const basic = `Basic ${Buffer.from('u:p:q').toString('base64')}`
    const forms = [
      'http://u:p%3Aq@h:81/x',
      { url: 'http://h:81/x', headers: { authorization: basic } },
      { url: 'http://h:81/x/', auth: { basic: { username: 'u', password: 'p:q' } } },
    ]
    for (const source of forms) {
      const endpoint = parse({ source }).source
      assert.ok(endpoint.kind === 'remote')
      assert.deepEqual(
        [endpoint.user, endpoint.password, endpoint.url.href, endpoint.headers.length],
        ['u', 'p:q', 'http://h:81/x/', 0],
      )
    }
  })

  it('is never shown with its password', () => {
    assert.equal(showEndpoint(parse().source), 'http://h/s/')
    assert.equal(showEndpoint(parse({ source: 'name' }).source), 'name')
    assert.equal(showProxy('socks5://u:secret@p:1'), 'socks5://p:1')
    assert.equal(showProxy(undefined), null)
  })

  it('keeps other headers and refuses those that would break a request', () => {
    const { source } = parse({ source: { url: T, headers: { Authorization: 'Bearer x' } } })
    assert.ok(source.kind === 'remote')
    assert.deepEqual(source.headers, [['Authorization', 'Bearer x']])
    for (const headers of [{ a: 'x\r\nb: c' }, { 'a b': 'x' }, { a: 5 }, []]) {
      assert.match(String(reasonOf({ source: { url: T, headers }, target: T })), /headers/)
    }
  })
})
