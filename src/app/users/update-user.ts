/**
 * Changing a user: his account and his settings document. Nothing is created here; places and people are given by their
 * ids. Whether the requester may is decided before (`user-access.ts`).
 */
import { type Failure, isFailure } from '../../base/errors.ts'
import { hasPermission, isOfflineRoleSet } from '../access/permissions.ts'
import { type Document, isObject, type JsonObject, without } from '../documents/document.ts'
import { invalid, notFound } from '../documents/refusal.ts'
import { findAccount, findUserSettings } from './account-documents.ts'
import { facilityIdsOf } from './account-fields.ts'
import { oidcChange } from './oidc-user.ts'
import { askedRoles, storedRoles } from './role-sets.ts'
import {
  accountToken,
  grantToken,
  isTokenLoginEnabled,
  randomPassword,
  shownToken,
  type TokenGrant,
  tokenDocumentId,
  withClearedTasks,
} from './token-login.ts'
import type { IdAndRev, UserContext } from './user-context.ts'
import { checkPassword, detailsOf, loginPhone } from './user-input.ts'
import { checkContact, checkFacilities } from './user-places.ts'
import { refusal } from './user-refusal.ts'

export interface UpdatedUser {
  readonly user: IdAndRev
  readonly 'user-settings': IdAndRev
  readonly token_login?: { readonly expiration_date: number }
}

export interface UpdateOptions {
  readonly isSelf: boolean
  /** The name belongs to an admin of the configuration. */
  readonly isServerAdmin: boolean
}

const ONE_OF = [
  'password',
  'known',
  'place',
  'contact',
  'type',
  'roles',
  'oidc_username',
  'fullname',
  'email',
  'phone',
  'external_id',
  'token_login',
  'language',
]
const ATTEMPTS_MAX = 5

export async function updateUser(
  context: UserContext,
  name: string,
  given: JsonObject,
  options: UpdateOptions,
): Promise<UpdatedUser> {
  requireOne(given)
  if (given.password !== undefined && given.password !== null) checkPassword(given.password)
  for (let attempt = 1; ; attempt++) {
    try {
      return await updateOnce(context, name, given, options)
    } catch (thrown) {
      // Somebody else changed one of the documents meanwhile: what was read is out of date.
      if (!isFailure(thrown, 'document_conflict') || attempt === ATTEMPTS_MAX) throw thrown
    }
  }
}

function requireOne(given: JsonObject): void {
  const isThere = (field: string): boolean => given[field] !== undefined && given[field] !== null
  if (ONE_OF.some(isThere) || given.place === null || given.contact === null) return
  const fields = ONE_OF.join(', ')
  throw refusal(`One of the following fields are required: ${fields}`, 'fields.one.required', {
    fields,
  })
}

async function updateOnce(
  context: UserContext,
  name: string,
  given: JsonObject,
  options: UpdateOptions,
): Promise<UpdatedUser> {
  const { account, settings } = await readUser(context, name)
  const roles = rolesOf(context, account, given)
  const oidc = await oidcChange(context, account, given)
  const token = await tokenChange(context, { account, settings, given })
  const places = await placesOf(context, account, given, roles)
  if (given.password && options.isServerAdmin) {
    throw invalid('Admin passwords must be changed manually in the database')
  }
  const password = token.password ?? oidc.password ?? (given.password || undefined)
  const shared = { roles, ...places }
  const details = detailsOf(given)
  const nextAccount = withMembers(account, {
    ...shared,
    ...('known' in details ? { known: details.known } : {}),
    ...(password === undefined
      ? {}
      : { password, password_change_required: mustChange(context, given, roles, options, token) }),
    ...token.account,
    ...oidc.account,
  })
  const phone = token.phone ?? given.phone
  const nextSettings = withMembers(settings, {
    ...shared,
    ...details,
    ...(phone === undefined ? {} : { phone }),
    ...token.shown,
    ...oidc.shown,
  })
  return writeUser(context, nextAccount, nextSettings, token)
}

async function writeUser(
  { users, data }: UserContext,
  account: Document,
  settings: Document,
  token: TokenChange,
): Promise<UpdatedUser> {
  const user = await users.put(account)
  const [outcome, ...others] = await data.putMany([settings, ...token.documents])
  for (const each of [outcome, ...others]) if (each?.ok === false) throw each.failure
  const rev = outcome?.ok ? outcome.rev : ''
  const grant = token.grant
  return {
    user,
    'user-settings': { id: settings._id, rev },
    ...(grant === undefined ? {} : { token_login: { expiration_date: grant.expirationDate } }),
  }
}

/** Both documents, or told which one is missing. */
export async function readUser(
  { users, data }: Pick<UserContext, 'users' | 'data'>,
  name: string,
): Promise<{ account: Document; settings: Document }> {
  const account = await findAccount(users, name)
  if (account === undefined) throw missingIn(name, 'users')
  const settings = await findUserSettings(data, name)
  if (settings === undefined) throw missingIn(name, data.name)
  return { account, settings }
}

const missingIn = (name: string, database: string): Failure =>
  notFound(`Failed to find user with name [${name}] in the [${database}] database.`)

function rolesOf({ settings }: UserContext, account: Document, given: JsonObject): string[] {
  const asked = askedRoles(given)
  if (asked !== undefined) return [...storedRoles(asked, settings)]
  return Array.isArray(account.roles) ? (account.roles as string[]) : []
}

async function placesOf(
  context: UserContext,
  account: Document,
  { place, contact }: JsonObject,
  roles: readonly string[],
): Promise<JsonObject> {
  const isOffline = isOfflineRoleSet(roles, context.settings)
  if (place === null && isOffline) throw invalid('Place field is required for offline users')
  if (contact === null && isOffline) throw invalid('Contact field is required for offline users')
  const facilityIds =
    place === undefined || place === null ? undefined : await checkFacilities(context, place, roles)
  const current = place === null ? [] : (facilityIds ?? facilityIdsOf(account))
  const contactId =
    contact === undefined || contact === null
      ? undefined
      : await checkContact(context, contact, current)
  return {
    ...(place === undefined ? {} : { facility_id: facilityIds ?? null }),
    ...(contact === undefined ? {} : { contact_id: contactId ?? null }),
  }
}

interface TokenChange {
  readonly password?: string
  readonly phone?: string
  readonly grant?: TokenGrant
  readonly account: JsonObject
  readonly shown: JsonObject
  /** Of tokens, new and old. */
  readonly documents: readonly Document[]
}

const NO_CHANGE: TokenChange = { account: {}, shown: {}, documents: [] }

async function tokenChange(
  context: UserContext,
  {
    account,
    settings,
    given,
  }: { readonly account: Document; readonly settings: Document; readonly given: JsonObject },
): Promise<TokenChange> {
  const { token_login: wanted } = given
  if (typeof wanted !== 'boolean' || !isTokenLoginEnabled(context.settings)) return NO_CHANGE
  const earlier = isObject(account.token_login) ? account.token_login : undefined
  if (!wanted) {
    if (earlier === undefined) return NO_CHANGE
    if (!given.password) {
      throw refusal('Password is required when disabling token login.', 'password.length.minimum', {
        minimum: 8,
      })
    }
    const removed = { token_login: undefined }
    return { account: removed, shown: removed, documents: await clearedOf(context, earlier) }
  }
  const phone = loginPhone(given.phone ?? settings.phone, context.settings)
  const { baseUrl } = context
  const grant = await grantToken(context, { userId: settings._id, phone, baseUrl })
  return {
    password: randomPassword(),
    phone,
    grant,
    account: { token_login: accountToken(grant) },
    shown: { token_login: shownToken(grant) },
    documents: [grant.document, ...(await clearedOf(context, earlier))],
  }
}

/** Messages of an earlier token that were not sent are not sent any more. */
async function clearedOf(
  { data, clock }: UserContext,
  earlier: JsonObject | undefined,
): Promise<Document[]> {
  if (typeof earlier?.token !== 'string') return []
  const document = await data.get(tokenDocumentId(earlier.token))
  const cleared = document && withClearedTasks(document, clock())
  return cleared === undefined ? [] : [cleared]
}

function mustChange(
  { settings }: UserContext,
  given: JsonObject,
  roles: readonly string[],
  { isSelf }: UpdateOptions,
  { grant }: TokenChange,
): boolean {
  if (given.password_change_required === false || isSelf || grant !== undefined) return false
  return !hasPermission({ roles }, settings, 'can_skip_password_change')
}

/** Members that are undefined go away. */
function withMembers(document: Document, members: JsonObject): Document {
  const gone = Object.keys(members).filter(name => members[name] === undefined)
  const kept = Object.entries(members).filter(([, value]) => value !== undefined)
  return { ...without(document, ...gone), ...Object.fromEntries(kept) } as Document
}
