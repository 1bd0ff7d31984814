/**
 * The look at the hierarchy that makes a scope: contacts at and below the user's places, as deep as his roles go, and
 * what the settings add to them. Costs what the user's area is large; `scope-cache.ts` keeps the result.
 */
import { hasPermission } from '../access/permissions.ts'
import type { ApplicationContext } from '../application-context.ts'
import type { OfflineUser } from './offline-user.ts'
import { type ReplicationDepth, replicationDepth } from './replication-depth.ts'
import { FOR_ALL, isContactDocument, type Subject, UNASSIGNED } from './replication-keys.ts'
import { addSubject, isSubject, Scope, shortcodeOf } from './scope.ts'

export interface LoadedScope {
  readonly scope: Scope
  /** Documents beside the subjects that have a say in it, whether they exist or not. */
  readonly watchedIds: ReadonlySet<string>
}

export async function loadScope(
  context: ApplicationContext,
  user: OfflineUser,
): Promise<LoadedScope> {
  const { settings } = context
  const depth = replicationDepth(user.roles, settings)
  const subjects = new Map<Subject, number>()
  for (const subject of [FOR_ALL, ...user.settingsIds]) subjects.set(subject, 0)
  const watchedIds = new Set(user.facilityIds)
  if (user.contactId !== undefined) watchedIds.add(user.contactId)
  const primaryIds = await addHierarchy(context, user, depth, subjects)
  if (depth.primaryContacts) {
    for (const id of primaryIds.keys()) watchedIds.add(id)
    await addPrimaryContacts(context, primaryIds, subjects)
  }
  const seesUnassigned =
    settings.all.district_admins_access_unallocated_messages === true &&
    hasPermission(user, settings, 'can_view_unallocated_data_records')
  if (seesUnassigned) subjects.set(UNASSIGNED, 0)
  return { scope: new Scope(user, depth, subjects), watchedIds }
}

interface DepthValue {
  readonly shortcode?: unknown
  readonly primary_contact?: unknown
}

/** Contacts at and below the places; the primary contacts of those that have one, by depth. */
async function addHierarchy(
  { data }: ApplicationContext,
  { facilityIds }: OfflineUser,
  depth: ReplicationDepth,
  subjects: Map<Subject, number>,
): Promise<Map<string, number>> {
  const primaryIds = new Map<string, number>()
  for (const facility of facilityIds) {
    const endKey = [facility, depth.contacts === Infinity ? {} : depth.contacts]
    const range = { startKey: [facility, 0], endKey }
    for await (const batch of data.rows(data.name, 'contacts_by_depth', range)) {
      for (const { id, key, value } of batch) {
        const below = (key as [string, number])[1]
        const { shortcode, primary_contact: primary } = (value ?? {}) as DepthValue
        addSubject(subjects, id, below)
        if (isSubject(shortcode)) addSubject(subjects, shortcode, below)
        if (typeof primary === 'string') addSubject(primaryIds, primary, below)
      }
    }
  }
  return primaryIds
}

async function addPrimaryContacts(
  { data }: ApplicationContext,
  primaryIds: ReadonlyMap<string, number>,
  subjects: Map<Subject, number>,
): Promise<void> {
  const known = await data.getMap(primaryIds.keys())
  for (const [id, depth] of primaryIds) {
    const contact = known.get(id)
    if (contact === undefined || !isContactDocument(contact)) continue
    addSubject(subjects, id, depth)
    const code = shortcodeOf(contact)
    if (code !== undefined) addSubject(subjects, code, depth)
  }
}
