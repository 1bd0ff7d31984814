/**
 * Logging in with a token: it is found by its document, checked against the account, and used up. The account gets a new
 * password that nobody knows; the session lasts as any other.
 */
import { isFailure } from '../../base/errors.ts'
import { userNameOfId } from '../../base/product-names.ts'
import type { RequestCredentials } from '../../core/auth/authenticate.ts'
import type { ServerOperations } from '../../core/operations/operations.ts'
import { type LoggedIn, logIn } from '../access/log-in.ts'
import { isObject } from '../documents/document.ts'
import { randomPassword, tokenDocumentId } from './token-login.ts'
import { readUser } from './update-user.ts'
import type { UserContext } from './user-context.ts'

export type TokenOutcome = LoggedIn | 'invalid' | 'expired'

const TOKEN_LENGTH_MAX = 200

export async function logInWithToken(
  context: UserContext,
  server: ServerOperations,
  token: string,
  request: RequestCredentials,
): Promise<TokenOutcome> {
  const { data, users, clock } = context
  if (token.length > TOKEN_LENGTH_MAX) return 'invalid'
  const granted = await data.get(tokenDocumentId(token))
  const name = typeof granted?.user === 'string' ? userNameOfId(granted.user) : undefined
  const user = name === undefined ? undefined : await findUser(context, name)
  const stored = isObject(user?.account.token_login) ? user.account.token_login : {}
  if (user === undefined || stored.active !== true || stored.token !== token) return 'invalid'
  if (!(Number(stored.expiration_date) > clock())) return 'expired'
  const used = { active: false, login_date: clock() }
  const password = randomPassword()
  try {
    // Used up before anybody is let in: of two who come with the same token one finds a conflict.
    await users.put({ ...user.account, password, token_login: { ...stored, ...used } })
  } catch (thrown) {
    if (isFailure(thrown, 'document_conflict')) return 'invalid'
    throw thrown
  }
  const shown = isObject(user.settings.token_login) ? user.settings.token_login : {}
  await data.putMany([{ ...user.settings, token_login: { ...shown, ...used } }])
  return logIn({ server, users }, { name: name as string, password }, request)
}

async function findUser(context: UserContext, name: string) {
  try {
    return await readUser(context, name)
  } catch (thrown) {
    if (isFailure(thrown, 'document_missing')) return undefined
    throw thrown
  }
}
