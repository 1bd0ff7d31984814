/**
 * Two answers of the database that clients of the application ask for whenever they are there: the session, and
 * `/dbinfo`, which is the main database's own. Whoever gets one of them was here; and pages keep knowing who is logged in
 * for as long as somebody comes.
 */
import type { Application } from '../../app/application.ts'
import { applicationDatabase } from '../../base/product-names.ts'
import type { Answer, Answerer } from '../kit/lifecycle.ts'
import { withHeaders } from '../kit/reply.ts'
import type { HttpRequest } from '../kit/request.ts'
import { pageCookie } from './page-cookie.ts'

const SESSION = /^\/+_session(?:[?#]|$)/
const DATABASE_INFO = /^\/+dbinfo\/*(?:[?#]|$)/

/** Undefined for every other request. */
export function visitAnswerer(
  application: Application,
  couch: Answerer,
  { target, method }: HttpRequest,
): Answerer | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined
  if (SESSION.test(target)) {
    return async (request, log) => renewed(request, noted(application, await couch(request, log)))
  }
  if (!DATABASE_INFO.test(target)) return undefined
  const redirection = { target: `/${applicationDatabase()}` }
  return async (request, log) => noted(application, await couch(request.redirect(redirection), log))
}

function noted(application: Application, answer: Answer): Answer {
  if (answer.reply.status < 400 && answer.user !== undefined) {
    application.connectedUsers.note(answer.user)
  }
  return answer
}

/** What pages know about who is logged in stays as it is, and lasts again. */
function renewed(request: HttpRequest, answer: Answer): Answer {
  const known = /(?:^|;\s*)userCtx=([^;\s]*)/.exec(request.header('cookie') ?? '')?.[1]
  if (known === undefined || answer.user === undefined) return answer
  const cookie = ['Set-Cookie', pageCookie(request, 'userCtx', known)]
  return { ...answer, reply: withHeaders(answer.reply, cookie) }
}
