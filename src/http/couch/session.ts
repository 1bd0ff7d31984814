/** `/_session`: log in, who am I, log out. */
import { Failure, isFailure } from '../../base/errors.ts'
import type { RequestCredentials } from '../../core/auth/authenticate.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { Reply } from '../kit/reply.ts'
import type { HttpRequest } from '../kit/request.ts'
import { Query } from '../kit/url.ts'
import { type Exchange, parseJsonBytes } from './exchange.ts'

export function getSession(exchange: Exchange): Reply {
  const { user, server, dialect, request } = exchange
  if (user.name === null && request.query.get('basic') === 'true') {
    throw new Failure('unauthorized', { reason: 'Please login.' })
  }
  const { configuration, authSettings } = server
  const configured = configuration.text('svc_httpd_auth', 'authentication_db') !== undefined
  const showsDatabase = dialect.sessionShowsAuthenticationDb || configured
  const info = {
    ...(showsDatabase ? { authentication_db: configuration.get(SETTINGS.authenticationDb) } : {}),
    authentication_handlers: authSettings.handlers,
    ...(user.authenticated === undefined ? {} : { authenticated: user.authenticated }),
  }
  const userCtx = { name: user.name, roles: user.roles }
  return plain(exchange.value(200, { ok: true, userCtx, info }))
}

export async function postSession(exchange: Exchange): Promise<Reply> {
  const { request, server } = exchange
  const given = await readCredentials(request)
  const next = redirectTarget(exchange, 'next')
  try {
    const { user, setCookie, upgrade } = await server.authenticator.logIn(
      given,
      credentialsOf(request),
      server.authSettings,
    )
    if (upgrade !== undefined) server.upgradePassword(upgrade)
    const isAdmin = user.roles.includes('_admin')
    const name = next !== undefined && isAdmin ? null : user.name
    const body = JSON.stringify({ ok: true, name, roles: user.roles })
    const cookie = ['Set-Cookie', setCookie]
    return plain(
      next === undefined
        ? exchange.json(200, body, cookie)
        : exchange.json(302, body, [...cookie, 'Location', next]),
    )
  } catch (thrown) {
    if (!isFailure(thrown, 'unauthorized')) throw thrown
    return plain(refused(exchange, thrown))
  }
}

function refused(exchange: Exchange, failure: Failure): Reply {
  const { server, request } = exchange
  const emptied = server.authenticator.emptiedCookie(credentialsOf(request), server.authSettings)
  const body = JSON.stringify({ error: 'unauthorized', reason: failure.detail.reason })
  const fail = redirectTarget(exchange, 'fail')
  const headers = ['Set-Cookie', emptied]
  return fail === undefined
    ? exchange.json(401, body, headers)
    : exchange.json(302, body, [...headers, 'Location', fail])
}

export function deleteSession(exchange: Exchange): Reply {
  const { server, request } = exchange
  const emptied = server.authenticator.emptiedCookie(credentialsOf(request), server.authSettings)
  const next = redirectTarget(exchange, 'next')
  const headers = ['Set-Cookie', emptied]
  return plain(
    next === undefined
      ? exchange.ok(200, headers)
      : exchange.ok(302, [...headers, 'Location', next]),
  )
}

/** CouchDB's session answers carry neither request id nor body time. */
const plain = (reply: Reply): Reply => ({ ...reply, withoutRequestHeaders: true })

export const credentialsOf = (request: HttpRequest): RequestCredentials => ({
  authorization: request.header('authorization'),
  cookie: request.header('cookie'),
  header: name => request.header(name),
  peer: request.peerAddress,
  isTls: request.isTls,
})

const LOGIN_BYTES_MAX = 65_536

async function readCredentials(request: HttpRequest): Promise<{ name: string; password: string }> {
  const type = request.contentType
  if (type !== 'application/json' && type !== 'application/x-www-form-urlencoded') {
    const reason = "Content-Type must be 'application/x-www-form-urlencoded' or 'application/json'"
    throw new Failure('content_type_unsupported', { reason })
  }
  const bytes = await request.bytes({ limitBytes: LOGIN_BYTES_MAX })
  const fields = type === 'application/json' ? jsonFields(bytes) : formFields(bytes)
  const { name, username } = fields
  if (name !== undefined && username !== undefined && name !== username) {
    refuse('request body contains different usernames')
  }
  const given = name ?? username
  if (given === undefined || given === '') return refuse('request body must contain a username')
  return { name: given, password: fields.password ?? '' }
}

type Fields = Partial<Record<'name' | 'username' | 'password', string>>

function formFields(bytes: Buffer): Fields {
  const form = new Query(bytes.toString('latin1'))
  const fields: Fields = {}
  for (const key of ['name', 'username', 'password'] as const) {
    const value = form.get(key)
    if (value !== undefined) fields[key] = value
  }
  return fields
}

function jsonFields(bytes: Buffer): Fields {
  const value = parseJsonBytes(bytes)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse('Request body must be a JSON object')
  }
  const fields: Fields = {}
  for (const key of ['name', 'username', 'password'] as const) {
    const given = (value as Record<string, unknown>)[key]
    if (typeof given === 'string') fields[key] = given
  }
  return fields
}

/** Only paths of this server: a login page must not send people elsewhere. */
function redirectTarget(exchange: Exchange, name: 'next' | 'fail'): string | undefined {
  const path = exchange.request.query.get(name)
  if (path === undefined) return undefined
  if (!path.startsWith('/') || path.startsWith('//') || /[\r\n\\]/.test(path)) {
    refuse('path must begin with a /.')
  }
  return exchange.url(path)
}

function refuse(reason: string): never {
  throw new Failure('request_invalid', { reason })
}
