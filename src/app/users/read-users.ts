/** Users as they are shown to those who manage them: account and settings in one, with their places and their person. */

import { userNameOfId } from '../../base/product-names.ts'
import type { ApplicationContext } from '../application-context.ts'
import type { Document, JsonObject } from '../documents/document.ts'
import { idIn } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { userSettingsIds } from './account-documents.ts'
import { facilityIdsOf } from './account-fields.ts'
import { readUser } from './update-user.ts'

export interface UsersSource extends ApplicationContext {
  /** Accounts. */
  readonly users: DocumentDatabase
}

export interface UsersFilter {
  readonly facilityId?: string | undefined
  readonly contactId?: string | undefined
}

const BATCH_MAX = 200

/** All users that pass, in the order of their ids, in batches. */
export async function* listUsers(
  source: UsersSource,
  filter: UsersFilter,
): AsyncGenerator<readonly JsonObject[], void, undefined> {
  for await (const accounts of accountsOf(source, filter)) {
    yield await presentMany(source, accounts)
  }
}

/** Fails with `document_missing`. */
export async function readOneUser(source: UsersSource, name: string): Promise<JsonObject> {
  const { account, settings } = await readUser(source, name)
  const contacts = await contactsOf(source, [account])
  return presentUser(account, settings, contacts)
}

/** The older form: one type instead of roles. */
export function withType({ roles, ...user }: JsonObject): JsonObject {
  const [type = 'unknown'] = Array.isArray(roles) ? (roles as unknown[]) : []
  return { ...user, type }
}

async function* accountsOf(
  { users }: UsersSource,
  { facilityId, contactId }: UsersFilter,
): AsyncGenerator<readonly Document[], void, undefined> {
  if (facilityId === undefined && contactId === undefined) {
    yield* allAccounts(users)
    return
  }
  const lists: Set<string>[] = []
  for (const key of [
    ['facility_id', facilityId],
    ['contact_id', contactId],
  ]) {
    if (key[1] === undefined) continue
    const rows = await users.allRows('users', 'users_by_field', { keys: [key] })
    lists.push(new Set(rows.map(({ id }) => id)))
  }
  const [first = new Set<string>(), second] = lists
  const ids = [...first].filter(id => second === undefined || second.has(id)).sort()
  for (let at = 0; at < ids.length; at += BATCH_MAX) {
    const found = await users.getMany(ids.slice(at, at + BATCH_MAX))
    yield found.filter(account => account !== undefined)
  }
}

async function* allAccounts(
  users: DocumentDatabase,
): AsyncGenerator<readonly Document[], void, undefined> {
  const { rows } = await (await users.open()).listDocuments('all', {})
  for await (const batch of rows) {
    const ids = batch.map(({ idSource, idStart, idEnd }) =>
      idSource.toString('utf8', idStart, idEnd),
    )
    const own = ids.filter(id => userNameOfId(id) !== undefined)
    for (let at = 0; at < own.length; at += BATCH_MAX) {
      const found = await users.getMany(own.slice(at, at + BATCH_MAX))
      yield found.filter(account => account !== undefined)
    }
  }
}

async function presentMany(
  source: UsersSource,
  accounts: readonly Document[],
): Promise<JsonObject[]> {
  const settings = await source.data.getMap(
    accounts.flatMap(({ name }) => userSettingsIds(String(name))),
  )
  const contacts = await contactsOf(source, accounts)
  return accounts.map(account => {
    const own = userSettingsIds(String(account.name)).map(id => settings.get(id))
    return presentUser(
      account,
      own.find(each => each !== undefined),
      contacts,
    )
  })
}

/** Places and people of these users, by id. */
function contactsOf(
  { data }: UsersSource,
  accounts: readonly Document[],
): Promise<Map<string, Document>> {
  const ids = accounts.flatMap(account => {
    const contactId = idIn(account.contact_id)
    return contactId === undefined ? facilityIdsOf(account) : [...facilityIdsOf(account), contactId]
  })
  return data.getMap(ids)
}

function presentUser(
  account: Document,
  settings: Document | undefined,
  contacts: ReadonlyMap<string, Document>,
): JsonObject {
  const facilityIds = facilityIdsOf(account)
  const contactId = idIn(account.contact_id)
  return {
    id: account._id,
    rev: account._rev,
    username: account.name,
    fullname: settings?.fullname,
    email: settings?.email,
    phone: settings?.phone,
    place: facilityIds.length === 0 ? null : facilityIds.map(id => contacts.get(id) ?? null),
    roles: account.roles,
    contact: contactId === undefined ? undefined : contacts.get(contactId),
    external_id: settings?.external_id,
    known: settings?.known ?? account.known,
    oidc_username: account.oidc_username,
  }
}
