/**
 * Users who log in with somebody else's identity provider: the account keeps the name that the provider knows them by,
 * and a password that nobody knows. Needs a provider in the settings; no two users have one name there.
 */
import { type Document, isObject, type JsonObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { invalid } from '../documents/refusal.ts'
import type { Settings } from '../settings/settings.ts'
import { randomPassword } from './token-login.ts'
import type { UserContext } from './user-context.ts'

const NAME_LENGTH_MAX = 1000

/** The name at the provider, undefined where none is given. Fails where it cannot be taken. */
export function checkOidcName(given: JsonObject, settings: Settings): string | undefined {
  const { oidc_username: name } = given
  if (!name) return undefined
  if (typeof name !== 'string' || name.length > NAME_LENGTH_MAX) {
    throw invalid('The oidc_username must be a string.')
  }
  refuseOtherLogins(given)
  if (!isObject(settings.all.oidc_provider)) {
    throw invalid('Cannot set oidc_username when OIDC Login is not enabled.')
  }
  return name
}

/** Whoever has a provider has no other way in. */
function refuseOtherLogins({ password, token_login: token }: JsonObject): void {
  if (password) throw invalid('Cannot set password or token_login with oidc_username.')
  if (token === true) throw invalid('Cannot set token_login with oidc_username.')
}

/** @param ownId of the user who may have it already */
export async function refuseTakenOidcName(
  users: DocumentDatabase,
  name: string,
  ownId?: string,
): Promise<void> {
  const keys = [['oidc_username', name]]
  const rows = await users.allRows('users', 'users_by_field', { keys })
  const other = rows.find(({ id }) => id !== ownId)
  if (other === undefined) return
  throw invalid(`The oidc_username [${name}] already exists for user [${other.id}].`)
}

export interface OidcChange {
  /** A new one that nobody knows. */
  readonly password?: string
  readonly account?: JsonObject
  readonly shown?: JsonObject
}

/** Another name at the identity provider, none any more, or as it was. */
export async function oidcChange(
  { users, settings }: UserContext,
  account: Document,
  given: JsonObject,
): Promise<OidcChange> {
  const name = checkOidcName(given, settings)
  if (name !== undefined) {
    await refuseTakenOidcName(users, name, account._id)
    return {
      password: randomPassword(),
      account: { oidc_username: name, password_change_required: false, token_login: undefined },
      shown: { oidc_login: true, token_login: undefined },
    }
  }
  if (given.oidc_username !== undefined) {
    return { account: { oidc_username: undefined }, shown: { oidc_login: undefined } }
  }
  if (account.oidc_username) refuseOtherLogins(given)
  return {}
}
