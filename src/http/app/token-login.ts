/** `/svc/login/token/{token}`: logging in with a link that came as a message. */

import { homeOf } from '../../app/access/log-in.ts'
import { logInWithToken } from '../../app/users/log-in-with-token.ts'
import { isTokenLoginEnabled } from '../../app/users/token-login.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange } from './app-exchange.ts'
import { welcome } from './login.ts'
import { userContextOf } from './users.ts'

export async function postTokenLogin(exchange: AppExchange): Promise<Reply> {
  const { context, user, application, credentials } = exchange
  if (user.name !== null) {
    const headers = ['Content-Type', 'text/plain; charset=utf-8']
    return { status: 302, headers, body: homeOf(user, context.settings) }
  }
  if (!isTokenLoginEnabled(context.settings)) {
    return exchange.json({ error: 'disabled', reason: 'Token login disabled' }, 400)
  }
  const token = exchange.params.get('token')
  const outcome = await logInWithToken(
    userContextOf(exchange),
    application.server,
    token,
    credentials,
  )
  if (typeof outcome === 'string') return exchange.json({ error: outcome }, 401)
  return welcome(exchange, outcome, {})
}

export function postWithoutToken(exchange: AppExchange): Reply {
  if (!isTokenLoginEnabled(exchange.context.settings)) {
    return exchange.json({ error: 'disabled', reason: 'Token login disabled' }, 400)
  }
  return exchange.json({ error: 'missing', reason: 'Missing required param' }, 400)
}
