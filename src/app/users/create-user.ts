/**
 * A new user: an account, a settings document, and where they are given as new things a place and a person.
 *
 * Everything is worked out and checked first. What belongs into the main database is then written in one commit and the
 * account after it; where either fails, what was written is taken back, so that a failure leaves nothing behind and
 * nobody can log in before all is there.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import { hasPermission } from '../access/permissions.ts'
import { type Document, isObject, type JsonObject } from '../documents/document.ts'
import { findAccount, findUserSettings, newUserId } from './account-documents.ts'
import { refuseTakenOidcName } from './oidc-user.ts'
import { storedRoles } from './role-sets.ts'
import {
  accountToken,
  grantToken,
  randomPassword,
  shownToken,
  type TokenGrant,
} from './token-login.ts'
import type { IdAndRev, UserContext } from './user-context.ts'
import { checkUserInput, type UserInput } from './user-input.ts'
import { checkContact, checkFacilities, draftPlaces, type UserPlaces } from './user-places.ts'
import { refusal } from './user-refusal.ts'

export interface CreatedUser {
  readonly contact?: IdAndRev
  readonly 'user-settings': IdAndRev
  readonly user: IdAndRev
  readonly token_login?: { readonly expiration_date: number }
}

/** Places and people may be new (`things`), or must exist and may be several (`ids`). */
export type PlacesGiven = 'things' | 'ids'

export async function createUser(
  context: UserContext,
  given: unknown,
  placesGiven: PlacesGiven,
): Promise<CreatedUser> {
  const input = checkUserInput(given, context.settings)
  if (input.oidcName !== undefined) await refuseTakenOidcName(context.users, input.oidcName)
  await refuseTaken(context, input.username)
  const places = await placesOf(context, input, placesGiven)
  const grant = await grantOf(context, input)
  const account = accountOf(context, input, places, grant)
  const settings = settingsOf(context, input, places, grant)
  const documents = [
    ...places.documents,
    settings,
    ...(grant === undefined ? [] : [grant.document]),
  ]
  const written = await writeAll(context, documents, input.username)
  const user = await writeAccount(context, account, written)
  return {
    ...(placesGiven === 'things' ? contactResult(places, written) : {}),
    'user-settings': { id: settings._id, rev: written.get(settings._id) as string },
    user,
    ...(grant === undefined ? {} : { token_login: { expiration_date: grant.expirationDate } }),
  }
}

async function refuseTaken({ users, data }: UserContext, name: string): Promise<void> {
  const account = await findAccount(users, name)
  if (account !== undefined || (await findUserSettings(data, name)) !== undefined) throw taken(name)
}

const taken = (username: string): Failure =>
  refusal(`Username "${username}" already taken.`, 'username.taken', { username })

async function placesOf(
  context: UserContext,
  { place, contact, roles }: UserInput,
  given: PlacesGiven,
): Promise<UserPlaces> {
  if (given === 'things') return draftPlaces(context, { place, contact })
  const facilityIds =
    place === undefined
      ? undefined
      : await checkFacilities(context, place, storedRoles(roles, context.settings))
  const contactId =
    contact === undefined ? undefined : await checkContact(context, contact, facilityIds)
  return { facilityIds, contactId, documents: [] }
}

const grantOf = async (
  context: UserContext,
  { username, isToken, phone }: UserInput,
): Promise<TokenGrant | undefined> =>
  isToken
    ? grantToken(context, {
        userId: newUserId(username),
        phone: phone as string,
        baseUrl: context.baseUrl,
      })
    : undefined

function accountOf(
  { settings }: UserContext,
  { username, roles: asked, password, oidcName, skipsPasswordChange, details }: UserInput,
  { facilityIds, contactId }: UserPlaces,
  grant: TokenGrant | undefined,
): Document {
  const roles = storedRoles(asked, settings)
  const mustChange =
    password !== undefined &&
    !skipsPasswordChange &&
    !hasPermission({ roles }, settings, 'can_skip_password_change')
  return present({
    _id: newUserId(username),
    name: username,
    type: 'user',
    roles,
    password: password ?? randomPassword(),
    password_change_required: mustChange,
    known: details.known,
    facility_id: facilityIds,
    contact_id: contactId,
    token_login: grant && accountToken(grant),
    oidc_username: oidcName,
  })
}

function settingsOf(
  { settings }: UserContext,
  { username, roles, phone, oidcName, details }: UserInput,
  { facilityIds, contactId }: UserPlaces,
  grant: TokenGrant | undefined,
): Document {
  return present({
    _id: newUserId(username),
    name: username,
    type: 'user-settings',
    ...details,
    phone: phone === null ? undefined : phone,
    roles: storedRoles(roles, settings),
    facility_id: facilityIds,
    contact_id: contactId,
    token_login: grant && shownToken(grant),
    oidc_login: oidcName === undefined ? undefined : true,
  })
}

/** Without members that are not there. */
const present = (members: JsonObject & { readonly _id: string }): Document =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Document

/** Revisions by id. Somebody who takes the same name at the same moment makes this one fail. */
async function writeAll(
  context: UserContext,
  documents: readonly Document[],
  username: string,
): Promise<Map<string, string>> {
  const outcomes = await context.data.putMany(documents)
  const written = new Map<string, string>()
  for (const outcome of outcomes) if (outcome.ok) written.set(outcome.id, outcome.rev)
  const failed = outcomes.find(outcome => !outcome.ok)
  if (failed === undefined || failed.ok) return written
  await takeBack(context, written)
  const isTaken = failed.id === newUserId(username) && failed.failure.code === 'document_conflict'
  throw isTaken ? taken(username) : failed.failure
}

async function writeAccount(
  context: UserContext,
  account: Document,
  written: ReadonlyMap<string, string>,
): Promise<IdAndRev> {
  try {
    return await context.users.put(account)
  } catch (thrown) {
    await takeBack(context, written)
    throw isFailure(thrown, 'document_conflict') ? taken(account.name as string) : thrown
  }
}

/** What was written a moment ago, in no particular state of anybody's knowledge: gone again. */
async function takeBack(
  { data }: UserContext,
  written: ReadonlyMap<string, string>,
): Promise<void> {
  const documents = [...written].map(([_id, _rev]) => ({ _id, _rev, _deleted: true }))
  const outcomes = await data.putMany(documents)
  const left = outcomes.filter(outcome => !outcome.ok).map(({ id }) => id)
  if (left.length > 0) {
    throw new Failure('unexpected', { reason: 'a failed creation left documents behind', left })
  }
}

function contactResult(
  { contactId, contactRev }: UserPlaces,
  written: ReadonlyMap<string, string>,
): Pick<CreatedUser, 'contact'> {
  if (contactId === undefined) return {}
  const rev = written.get(contactId) ?? contactRev
  return rev === undefined ? {} : { contact: { id: contactId, rev } }
}

/** For logs of imports: what came in, without secrets. */
export const withoutSecrets = (given: unknown): JsonObject =>
  isObject(given)
    ? Object.fromEntries(Object.entries(given).filter(([name]) => name !== 'password'))
    : {}
