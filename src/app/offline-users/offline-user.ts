/**
 * Whom a scope is made for: a user with the places he works for and the person he is. Read from his account and his
 * settings document; or made up, for those who ask how much somebody would replicate.
 */
import { idIn } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { findAccount, userSettingsIds } from '../users/account-documents.ts'
import { facilityIdsOf } from '../users/account-fields.ts'
import type { Subject } from './replication-keys.ts'

export interface OfflineUser {
  readonly roles: readonly string[]
  readonly contactId: string | undefined
  readonly facilityIds: readonly string[]
  /** His settings document; under more than one id where the product's other name may have been used. */
  readonly settingsIds: readonly string[]
  /** Ids and short codes of his places and of himself. */
  readonly own: ReadonlySet<Subject>
}

/** What his account says. */
export interface OfflineAccount extends Omit<OfflineUser, 'own'> {
  readonly name: string
}

/** Somebody without an account has no places: he sees what everybody sees. */
export async function readOfflineAccount(
  users: DocumentDatabase,
  { name, roles }: { readonly name: string; readonly roles: readonly string[] },
): Promise<OfflineAccount> {
  const account = await findAccount(users, name)
  const contactId = idIn(account?.contact_id)
  const facilityIds = facilityIdsOf(account)
  return { name, roles, contactId, facilityIds, settingsIds: userSettingsIds(name) }
}

export async function loadOfflineUser(
  data: DocumentDatabase,
  account: OfflineAccount,
): Promise<OfflineUser> {
  return { ...account, own: await ownSubjects(data, account.facilityIds, account.contactId) }
}

/** Somebody who might exist: tasks, which are kept by user name, are never his. */
export async function imagineOfflineUser(
  data: DocumentDatabase,
  imagined: Pick<OfflineUser, 'roles' | 'facilityIds' | 'contactId'>,
): Promise<OfflineUser> {
  const own = await ownSubjects(data, imagined.facilityIds, imagined.contactId)
  return { settingsIds: [], own, ...imagined }
}

async function ownSubjects(
  data: DocumentDatabase,
  facilityIds: readonly string[],
  contactId: string | undefined,
): Promise<Set<Subject>> {
  const ids = contactId === undefined ? facilityIds : [...facilityIds, contactId]
  const own = new Set<Subject>(ids)
  for (const document of (await data.getMap(ids)).values()) {
    for (const code of [document.patient_id, document.place_id]) {
      if (code) own.add(code as Subject)
    }
  }
  return own
}
