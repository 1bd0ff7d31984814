/** Who comes in, over HTTP: every mechanism from the request to the answer. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, afterEach, before, describe, it } from 'node:test'
import { Log } from '../../../../src/base/log.ts'
import {
  type Answer,
  type AskOptions,
  startServer,
  type TestServer,
} from '../../../support/start-server.ts'

const SECRET = 'the secret of the server'
let nowMs = Date.UTC(2026, 0, 1)
const lines: string[] = []
let server: TestServer
/** Configured by a test, to be taken back after it. */
const configured: [string, string][] = []

function configure(section: string, values: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(values)) {
    configured.push([section, key])
    server.configuration.apply({ section, key, value })
  }
}

before(async () => {
  const sink = { write: (line: string) => lines.push(line) }
  server = await startServer({
    settings: { svc_httpd_auth: { secret: SECRET, iterations: '1' } },
    clock: () => nowMs,
    log: new Log({ level: 'debug', format: 'text', sink }),
  })
  await server.ask('PUT', '/_users')
  await server.ask('PUT', '/db')
  for (const name of ['bob', 'ann']) {
    const body = { name, password: `pw-${name}`, roles: ['nurse'], type: 'user' }
    await server.ask('PUT', `/_users/org.couchdb.user:${name}`, { body })
  }
})
after(() => server.close())
afterEach(() => {
  for (const [section, key] of configured.splice(0)) {
    server.configuration.apply({ section, key, value: undefined })
  }
})

const logIn = (
  name: string,
  password: string,
  options: AskOptions & { query?: string } = {},
): Promise<Answer> =>
  server.ask('POST', `/_session${options.query ?? ''}`, {
    user: null,
    body: { name, password },
    ...options,
  })

function cookieOf({ headers }: Answer): string {
  const [text] = (headers['set-cookie'] ?? []) as string[]
  assert.ok(text, 'a cookie is set')
  return text
}

const tokenOf = (answer: Answer): string => cookieOf(answer).split(';')[0] as string

async function whoIs(options: AskOptions): Promise<string> {
  const { status, json } = await server.ask('GET', '/_session', { user: null, ...options })
  if (status !== 200) return String(status)
  const { userCtx, info } = json as {
    userCtx: { name: string; roles: string[] }
    info: { authenticated?: string }
  }
  return `${userCtx.name} [${userCtx.roles}] ${info.authenticated}`
}

const reason = (answer: Answer): string =>
  `${answer.status} ${(answer.json as { reason: string }).reason}`

describe('a session', () => {
  it('is opened with JSON or a form, and known by its cookie', async () => {
    const json = await logIn('bob', 'pw-bob')
    assert.deepEqual(json.json, { ok: true, name: 'bob', roles: ['nurse'] })
    const form = await server.ask('POST', '/_session', {
      user: null,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'name=bob&password=pw%2Dbob',
    })
    for (const answer of [json, form]) {
      assert.match(cookieOf(answer), /^AuthSession=[\w-]+; Version=1; Path=\/; HttpOnly$/)
      assert.equal(await whoIs({ headers: { Cookie: tokenOf(answer) } }), 'bob [nurse] cookie')
    }
  })

  it('is renewed while it is used, ends when it is not, and with the password', async () => {
    const headers = { Cookie: tokenOf(await logIn('bob', 'pw-bob')) }
    assert.equal(
      (await server.ask('GET', '/db', { user: null, headers })).headers['set-cookie'],
      undefined,
    )
    nowMs += 120_000
    const renewed = await server.ask('GET', '/db', { user: null, headers })
    assert.notEqual(tokenOf(renewed), headers.Cookie)
    nowMs += 500_000
    assert.equal(await whoIs({ headers }), 'null [] undefined')
    const current = { Cookie: tokenOf(renewed) }
    assert.equal(await whoIs({ headers: current }), 'bob [nurse] cookie')
    const path = '/_users/org.couchdb.user:bob'
    const { _rev, ...rest } = (await server.ask('GET', path)).json as Record<string, unknown>
    await server.ask('PUT', `${path}?rev=${_rev}`, { body: { ...rest, password: 'pw-bob' } })
    assert.equal(await whoIs({ headers: current }), 'null [] undefined')
  })

  it('has the attributes that are configured', async () => {
    configure('couch_httpd_auth', {
      same_site: 'strict',
      cookie_domain: 'example.org',
      allow_persistent_cookies: 'true',
    })
    assert.match(
      cookieOf(await logIn('bob', 'pw-bob')),
      /; Version=1; Expires=\w{3}, \d\d-\w{3}-2026 [\d:]{8} GMT; Max-Age=600; Domain=example\.org; Path=\/; HttpOnly; SameSite=Strict$/,
    )
  })

  it('is Secure where a trusted proxy says that the client came over TLS, and only there', async () => {
    const headers = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'records.example.org' }
    assert.doesNotMatch(cookieOf(await logIn('bob', 'pw-bob', { headers })), /Secure/)
    configure('chttpd', { trusted_proxies: '127.0.0.0/8, ::1' })
    assert.match(cookieOf(await logIn('bob', 'pw-bob', { headers })), /; Secure; Path/)
    const ssl = { headers: { 'X-Forwarded-Ssl': 'on' } }
    assert.match(cookieOf(await logIn('bob', 'pw-bob', ssl)), /; Secure; Path/)
    const next = await logIn('bob', 'pw-bob', { headers, query: '?next=/x' })
    assert.equal(next.headers.location, 'https://records.example.org/x')
    configure('chttpd', { trusted_proxies: '10.0.0.1' })
    assert.doesNotMatch(cookieOf(await logIn('bob', 'pw-bob', { headers })), /Secure/)
  })

  it('leads on to places of this server alone', async () => {
    const next = await logIn('bob', 'pw-bob', { query: '?next=/db' })
    assert.equal(`${next.status} ${next.headers.location}`, '302 http://injected/db')
    for (const elsewhere of [
      '//evil.example',
      'http://evil.example',
      '/%5Cevil.example',
      '/%0d%0aX:y',
    ]) {
      assert.equal(
        (await logIn('bob', 'pw-bob', { query: `?next=${elsewhere}` })).status,
        400,
        elsewhere,
      )
    }
    const failed = await logIn('bob', 'wrong', { query: '?fail=/again' })
    assert.equal(`${failed.status} ${failed.headers.location}`, '302 http://injected/again')
  })

  it('is closed by emptying the cookie, and not opened by wrong or broken requests', async () => {
    for (const answer of [await server.ask('DELETE', '/_session'), await logIn('bob', 'wrong')]) {
      assert.match(cookieOf(answer), /^AuthSession=; Version=1; Path=\/; HttpOnly$/)
    }
    assert.equal(reason(await logIn('', 'x')), '400 request body must contain a username')
    const malformed = await server.ask('GET', '/db', {
      user: null,
      headers: { Cookie: 'AuthSession=%%%' },
    })
    assert.equal(reason(malformed), '400 Malformed AuthSession cookie. Please clear your cookies.')
    const forged = Buffer.from('admin:7FFFFFFF:xxxxxxxxxxxxxxxxxxxx').toString('base64url')
    assert.equal(await whoIs({ headers: { Cookie: `AuthSession=${forged}` } }), 'null [] undefined')
  })
})

describe('Basic', () => {
  it('is asked for with basic=true', async () => {
    assert.equal(
      reason(await server.ask('GET', '/_session?basic=true', { user: null })),
      '401 Please login.',
    )
    assert.equal(
      (await server.ask('GET', '/_session?basic=true', { user: 'bob:pw-bob' })).status,
      200,
    )
  })

  it('says the same of a wrong password and an unknown name', async () => {
    const wrong = await server.ask('GET', '/db', { user: 'ann:wrong' })
    const unknown = await server.ask('GET', '/db', { user: 'nobody:wrong' })
    assert.equal(reason(wrong), '401 Name or password is incorrect.')
    assert.equal(unknown.text, wrong.text)
    const without = (answer: Answer) => ({
      ...answer.headers,
      'x-svc-request-id': '',
      date: '',
      'x-svc-body-time': '',
    })
    assert.deepEqual(without(unknown), without(wrong))
  })

  it('locks out after repeated failures, one client and one name, whether it exists or not', async () => {
    configure('chttpd', { trusted_proxies: '127.0.0.1' })
    const from = (address: string, user: string) =>
      server.ask('GET', '/db', { user, headers: { 'X-Forwarded-For': address } })
    for (const name of ['ann', 'nobody2']) {
      for (let n = 0; n < 5; n++)
        assert.equal((await from('192.0.2.1', `${name}:no${n}`)).status, 401)
      assert.equal(
        reason(await from('192.0.2.1', `${name}:pw-ann`)),
        '403 Account is temporarily locked due to multiple authentication failures',
      )
    }
    assert.equal((await from('192.0.2.2', 'ann:pw-ann')).status, 200)
    assert.equal((await from('192.0.2.1', 'bob:pw-bob')).status, 200)
    // A client cannot choose its own address: what it sent itself stands before what the proxy added.
    assert.equal((await from('198.51.100.9, 192.0.2.1', 'ann:pw-ann')).status, 403)
    nowMs += 300_001
    assert.equal((await from('192.0.2.1', 'ann:pw-ann')).status, 200)
  })
})

describe('a proxy', () => {
  const HANDLERS =
    '{chttpd_auth, proxy_authentication_handler}, {chttpd_auth, default_authentication_handler}'
  const token = createHmac('sha1', SECRET).update('pat').digest('hex')

  it('names users where its handler is listed', async () => {
    const headers = { 'X-Auth-Svc-UserName': 'pat', 'X-Auth-Svc-Roles': 'a,b' }
    assert.equal(await whoIs({ headers }), 'null [] undefined')
    configure('chttpd', { authentication_handlers: HANDLERS })
    assert.equal(await whoIs({ headers }), 'pat [a,b] proxy')
    assert.equal(await whoIs({ headers: { 'X-Auth-CouchDB-UserName': 'pat' } }), 'pat [] proxy')
  })

  it('proves it with a token where that is wanted', async () => {
    configure('chttpd', { authentication_handlers: HANDLERS })
    configure('svc_httpd_auth', {
      proxy_use_secret: 'true',
      x_auth_username: 'X-User',
      x_auth_token: 'X-Proof',
      x_auth_roles: 'X-Roles',
    })
    const headers = { 'X-User': 'pat', 'X-Roles': 'a' }
    assert.equal(await whoIs({ headers }), 'null [] undefined')
    assert.equal(
      await whoIs({ headers: { ...headers, 'X-Proof': token.replace(/^./, 'x') } }),
      'null [] undefined',
    )
    assert.equal(await whoIs({ headers: { ...headers, 'X-Proof': token } }), 'pat [a] proxy')
    const sha256 = createHmac('sha256', SECRET).update('pat').digest('hex')
    assert.equal(await whoIs({ headers: { ...headers, 'X-Proof': sha256 } }), 'pat [a] proxy')
  })
})

describe('a JSON web token', () => {
  const key = Buffer.from('a key of the issuer')
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  function sign(claims: object, header: object = { alg: 'HS256' }, by = key): string {
    const text = `${part(header)}.${part(claims)}`
    return `Bearer ${text}.${createHmac('sha256', by).update(text).digest('base64url')}`
  }

  it('names users where its handler is listed', async () => {
    const Authorization = sign({ sub: 'joe', '_couchdb.roles': ['x'] })
    assert.equal(await whoIs({ headers: { Authorization } }), 'null [] undefined')
    configure('chttpd', { authentication_handlers: '{chttpd_auth, jwt_authentication_handler}' })
    configure('jwt_keys', { 'hmac:_default': key.toString('base64') })
    configure('jwt_auth', { required_claims: 'exp' })
    const expS = Math.floor(nowMs / 1000) + 60
    const good = sign({ sub: 'joe', exp: expS, '_couchdb.roles': ['x'] })
    assert.equal(await whoIs({ headers: { Authorization: good } }), 'joe [x] jwt')
    const bad = [
      sign({ sub: 'joe', exp: expS - 120 }),
      sign({ sub: 'joe' }),
      sign({ exp: expS }),
      sign({ sub: 'joe', exp: expS }, { alg: 'HS256' }, Buffer.from('another')),
      `Bearer ${part({ alg: 'none' })}.${part({ sub: 'admin', exp: expS })}.`,
      'Bearer nonsense',
    ]
    for (const token of bad)
      assert.match(await whoIs({ headers: { Authorization: token } }), /^40[01]$/)
  })
})

describe('a valid user', () => {
  it('is required on the port that says so', async () => {
    configure('chttpd', { require_valid_user: 'true' })
    const refused = await server.ask('GET', '/', { user: null })
    assert.equal(reason(refused), '401 Authentication required.')
    assert.equal(refused.headers['www-authenticate'], 'Basic realm="server"')
    assert.equal((await server.ask('GET', '/_up', { user: null })).status, 401)
    assert.equal((await server.ask('GET', '/', { user: null, nodeLocal: true })).status, 200)
    assert.equal((await logIn('bob', 'pw-bob')).status, 200)
    configure('chttpd', { require_valid_user_except_for_up: 'true' })
    assert.equal((await server.ask('GET', '/_up', { user: null })).status, 200)
  })

  it('is required on the node-local port where that says so', async () => {
    configure('svc_httpd_auth', { require_valid_user: 'true' })
    const refused = await server.ask('GET', '/', { user: null, nodeLocal: true })
    assert.equal(reason(refused), '401 Authentication required.')
    assert.equal(refused.headers['www-authenticate'], 'Basic realm="server"')
    assert.equal((await server.ask('GET', '/', { nodeLocal: true })).status, 200)
    assert.equal((await server.ask('GET', '/', { user: null })).status, 200)
  })
})

describe('strangers', () => {
  const refused = (headers: Readonly<Record<string, string>> = {}) =>
    server.ask('GET', '/_active_tasks', { user: null, headers })

  it('are challenged as configured, or as the client wants it', async () => {
    assert.equal((await refused()).headers['www-authenticate'], undefined)
    configure('chttpd', { 'WWW-Authenticate': 'Basic realm="clinic"' })
    assert.equal((await refused()).headers['www-authenticate'], 'Basic realm="clinic"')
    for (const name of ['X-Svc-WWW-Authenticate', 'X-CouchDB-WWW-Authenticate']) {
      assert.equal((await refused({ [name]: 'Cookie' })).headers['www-authenticate'], 'Cookie')
    }
  })

  it('with a browser are sent to the login page', async () => {
    const { status, headers } = await refused({ Accept: 'text/html' })
    const query = 'return=%2F_active_tasks&reason=You%20are%20not%20a%20server%20admin.'
    assert.equal(
      `${status} ${headers.location}`,
      `302 http://injected/_utils/session.html?${query}`,
    )
    configure('svc_httpd_auth', { authentication_redirect: '/login' })
    assert.equal(
      (await refused({ Accept: 'text/html' })).headers.location,
      `http://injected/login?${query}`,
    )
    assert.equal((await refused({ Accept: 'text/html, application/json' })).status, 401)
  })

  it('from other origins see what is configured, also when they are refused', async () => {
    const Origin = 'https://app.example.org'
    assert.equal((await refused({ Origin })).headers['access-control-allow-origin'], undefined)
    configure('chttpd', { enable_cors: 'true' })
    configure('cors', { origins: Origin, credentials: 'true' })
    const { headers } = await refused({ Origin })
    assert.equal(headers['access-control-allow-origin'], Origin)
    assert.equal(headers['access-control-allow-credentials'], 'true')
    assert.match(String(headers.vary), /\bOrigin\b/i)
    assert.equal(
      (await refused({ Origin: 'https://evil.example' })).headers['access-control-allow-origin'],
      undefined,
    )
    const preflight = await server.ask('OPTIONS', '/db', {
      user: null,
      headers: {
        Origin,
        'Access-Control-Request-Method': 'PUT',
        'Access-Control-Request-Headers': 'content-type, x-svc-full-commit',
      },
    })
    assert.equal(preflight.status, 204)
  })
})

describe('a configuration that authentication cannot work with', () => {
  it('is refused before it shuts everybody out', async () => {
    const broken: [string, string, string][] = [
      ['chttpd', 'authentication_handlers', 'nonsense'],
      ['chttpd_auth', 'hash_algorithms', 'md5'],
      ['couch_httpd_auth', 'cookie_domain', 'x; Secure'],
      ['jwt_auth', 'required_claims', 'colour'],
      ['chttpd', 'trusted_proxies', 'everybody'],
    ]
    for (const [section, key, value] of broken) {
      const path = `/_node/_local/_config/${section}/${key}`
      const answer = await server.ask('PUT', path, { body: JSON.stringify(value) })
      assert.equal(`${key} ${answer.status}`, `${key} 400`)
      assert.equal((await server.ask('GET', '/_session')).status, 200)
    }
  })
})

describe('the log', () => {
  it('holds no secret, whatever came in', async () => {
    const secrets = ['hush-1', 'hush-2', 'hush-3', 'hush-4', 'hush-5', 'hush-6', 'hush-7']
    await server.ask('GET', '/db', { user: 'zoe:hush-1' })
    await logIn('zoe', 'hush-2')
    await server.ask('PUT', '/_users/org.couchdb.user:zoe', {
      body: { name: 'zoe', roles: [], type: 'user', password: 'hush-3' },
    })
    await server.ask('PUT', '/_node/_local/_config/admins/zed', { body: '"hush-4"' })
    await server.ask('GET', '/db?password=hush-5&token=hush-6')
    await server.ask('POST', '/_replicate', {
      body: { source: 'http://zoe:hush-7@127.0.0.1:1/x', target: 'db', retries_per_request: 0 },
    })
    await server.ask('DELETE', '/_node/_local/_config/admins/zed')
    const session = await logIn('zoe', 'hush-3')
    await server.ask('GET', '/db', { user: null, headers: { Cookie: tokenOf(session) } })
    const log = lines.join('\n')
    assert.match(log, /POST \/_session 401/)
    assert.match(log, /password=\[redacted\]/)
    for (const secret of [
      ...secrets,
      SECRET,
      'pw-bob',
      tokenOf(session).slice('AuthSession='.length),
    ]) {
      assert.equal(log.includes(secret), false, secret)
    }
  })

  it('and answers show hashes to admins and owners alone', async () => {
    const admins = (await server.ask('GET', '/_node/_local/_config/admins')).text
    assert.doesNotMatch(admins, /"pass"/)
    assert.equal(
      (await server.ask('GET', '/_node/_local/_config', { user: 'bob:pw-bob' })).status,
      401,
    )
  })
})
