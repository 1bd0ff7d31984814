/** `/svc/login` and `/svc/password-reset`, for programs: JSON in, cookies out. The pages themselves are not ours. */

import {
  homeOf,
  type LoggedIn,
  logIn,
  passwordRefusal,
  setPassword,
} from '../../app/access/log-in.ts'
import { isObject } from '../../app/documents/document.ts'
import { ensureAdminAccount } from '../../app/users/admin-account.ts'
import { Failure, isFailure } from '../../base/errors.ts'
import { applicationDatabase } from '../../base/product-names.ts'
import type { User } from '../../core/auth/user.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange } from './app-exchange.ts'
import { pageCookie } from './page-cookie.ts'

export async function postLogin(exchange: AppExchange): Promise<Reply> {
  const { user: name, password, redirect, locale } = await fieldsOf(exchange)
  const loggedIn = await tryLogIn(exchange, name, password)
  if (loggedIn === undefined) return exchange.json({ error: 'Not logged in' }, 401)
  await introduceAdmin(exchange, loggedIn.user)
  return welcome(exchange, loggedIn, { redirect, locale })
}

/** Documents that an admin lacks are made, but nobody is kept out for want of them. */
async function introduceAdmin({ application }: AppExchange, { name }: User): Promise<void> {
  const isServerAdmin = application.server.configuration.text('admins', name ?? '') !== undefined
  if (name === null || !isServerAdmin) return
  try {
    await ensureAdminAccount(application, name)
  } catch (thrown) {
    application.logFailure('the documents of an admin could not be made', thrown)
  }
}

export async function postPasswordReset(exchange: AppExchange): Promise<Reply> {
  const { username, currentPassword, password, locale } = await fieldsOf(exchange)
  const isComplete = [username, currentPassword, password].every(text => typeof text === 'string')
  if (!isComplete) throw new Failure('request_invalid', { reason: 'Missing required fields' })
  const [current, next] = [currentPassword as string, password as string]
  const refusal = passwordRefusal(current, next)
  if (refusal !== undefined) return exchange.json(refusal, 400)
  const { users } = exchange.application
  const isRight = (await tryLogIn(exchange, username, current)) !== undefined
  const changed = isRight ? await setPassword(users, username as string, next) : undefined
  if (changed === undefined) return exchange.json({ error: 'current-password-incorrect' }, 400)
  const loggedIn = await tryLogIn(exchange, username, next)
  if (loggedIn === undefined)
    throw new Failure('unexpected', { reason: 'a new password is refused' })
  return welcome(exchange, loggedIn, { locale })
}

/** Renews the cookie that tells pages who is logged in. */
export function getIdentity(exchange: AppExchange): Reply {
  const { user } = exchange
  if (user.name === null) return { status: 401, headers: ['logout-authorization', 'Svc API'] }
  return exchange.json({ success: true }, 200, ['Set-Cookie', userCookie(exchange, user)])
}

async function fieldsOf(exchange: AppExchange): Promise<Record<string, unknown>> {
  const given = await exchange.jsonBody()
  return isObject(given) ? given : {}
}

/** Undefined when name or password is wrong. */
async function tryLogIn(
  { application, credentials }: AppExchange,
  name: unknown,
  password: unknown,
): Promise<LoggedIn | undefined> {
  if (typeof name !== 'string' || typeof password !== 'string') return undefined
  try {
    return await logIn(application, { name, password }, credentials)
  } catch (thrown) {
    if (isFailure(thrown, 'unauthorized')) return undefined
    throw isFailure(thrown, 'forbidden') ? new Failure('rate_limited', {}, thrown) : thrown
  }
}

/** Pages read the target from the body: a redirect would be followed by whatever sent the request. */
export function welcome(
  exchange: AppExchange,
  { user, setCookie, mustChangePassword }: LoggedIn,
  wanted: { readonly redirect?: unknown; readonly locale?: unknown },
): Reply {
  const session = /;\s*samesite=/i.test(setCookie) ? setCookie : `${setCookie}; SameSite=Lax`
  const cookies = [userCookie(exchange, user), 'login=; Path=/; Max-Age=0']
  const { locale } = wanted
  if (typeof locale === 'string' && /^[\w-]{1,35}$/.test(locale)) {
    cookies.push(pageCookie(exchange.request, 'locale', locale))
  }
  if (!mustChangePassword) cookies.unshift(session)
  return {
    status: 302,
    headers: [
      'Content-Type',
      'text/plain; charset=utf-8',
      ...cookies.flatMap(text => ['Set-Cookie', text]),
    ],
    body: mustChangePassword
      ? `/${applicationDatabase()}/password-reset`
      : (localPath(wanted.redirect) ?? homeOf(user, exchange.context.settings)),
  }
}

/** Only paths of this server: a login must not send people elsewhere. */
function localPath(given: unknown): string | undefined {
  if (typeof given !== 'string' || !/^\/(?![/\\])/.test(given)) return undefined
  return /[\u0000-\u001f\\]/.test(given) ? undefined : given
}

const userCookie = ({ request }: AppExchange, { name, roles }: User): string =>
  pageCookie(request, 'userCtx', encodeURIComponent(JSON.stringify({ name, roles })))
