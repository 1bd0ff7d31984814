/**
 * What an offline user may see: his subjects, each with its depth below his places, and the test of a document or of a
 * row of the index against them.
 *
 * A scope is one look at the hierarchy; whoever writes contacts makes another one with them (`including`).
 */
import { applicationDatabase } from '../../base/product-names.ts'
import { hasPermission } from '../access/permissions.ts'
import type { ApplicationContext } from '../application-context.ts'
import type { JsonObject } from '../documents/document.ts'
import type { OfflineUser } from './offline-user.ts'
import { type ReplicationDepth, replicationDepth } from './replication-depth.ts'
import {
  chainIds,
  FOR_ALL,
  isContactDocument,
  type KeyFacts,
  replicationKeys,
  type Subject,
  UNASSIGNED,
} from './replication-keys.ts'

/** What clients run on their devices. */
export const CLIENT_DESIGN_ID = `_design/${applicationDatabase()}-client`

interface DepthValue {
  readonly shortcode?: unknown
  readonly primary_contact?: unknown
}

export async function loadScope(context: ApplicationContext, user: OfflineUser): Promise<Scope> {
  const { settings } = context
  const depth = replicationDepth(user.roles, settings)
  const subjects = new Map<Subject, number>()
  for (const subject of [FOR_ALL, ...user.settingsIds]) subjects.set(subject, 0)
  const primaryIds = await addHierarchy(context, user, depth, subjects)
  if (depth.primaryContacts) await addPrimaryContacts(context, primaryIds, subjects)
  const seesUnassigned =
    settings.all.district_admins_access_unallocated_messages === true &&
    hasPermission(user, settings, 'can_view_unallocated_data_records')
  if (seesUnassigned) subjects.set(UNASSIGNED, 0)
  return new Scope(user, depth, subjects)
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

export class Scope {
  readonly user: OfflineUser
  readonly subjects: ReadonlyMap<Subject, number>
  readonly #depth: ReplicationDepth

  constructor(user: OfflineUser, depth: ReplicationDepth, subjects: ReadonlyMap<Subject, number>) {
    this.user = user
    this.#depth = depth
    this.subjects = subjects
  }

  /** Documents that are his whatever is in them. */
  isOwn(id: string): boolean {
    return id === CLIENT_DESIGN_ID || this.user.settingsIds.includes(id)
  }

  /** May he see this revision of a document? What is embedded in it counts, nothing is looked up. */
  allows(id: string, document: JsonObject): boolean {
    if (this.isOwn(id)) return true
    if (isContactDocument(document)) return this.#allowsContact(id, document)
    const { keys, facts } = replicationKeys(id, document)
    return keys.some(key => this.allowsKey(key, facts))
  }

  /** The same for one row of the index of keys. */
  allowsKey(key: Subject, facts: KeyFacts): boolean {
    if (key === FOR_ALL) return true
    const depth = this.subjects.get(key)
    return depth !== undefined && !this.#isSensitive(facts) && this.#isNear(depth, facts)
  }

  /** Subjects of a contact that is about to be written; undefined when it is not one of his. */
  subjectsOf(id: string, document: JsonObject): readonly [Subject, number][] | undefined {
    const depth = isContactDocument(document) ? this.#depthOf(id, document) : undefined
    if (depth === undefined) return undefined
    const code = shortcodeOf(document)
    return code === undefined
      ? [[id, depth]]
      : [
          [id, depth],
          [code, depth],
        ]
  }

  /** The scope once these were added, and those taken out. */
  including(added: Iterable<readonly [Subject, number]>, removed: Iterable<Subject>): Scope {
    const subjects = new Map(this.subjects)
    for (const [subject, depth] of added) addSubject(subjects, subject, depth)
    for (const subject of removed) subjects.delete(subject)
    return new Scope(this.user, this.#depth, subjects)
  }

  #allowsContact(id: string, document: JsonObject): boolean {
    if (this.#depthOf(id, document) !== undefined) return true
    return this.#depth.primaryContacts && this.subjects.has(id)
  }

  /** Steps up to the nearest of his places; undefined where there is none, or too many. */
  #depthOf(id: string, { parent }: JsonObject): number | undefined {
    const depth = [id, ...chainIds(parent)].findIndex(each => this.user.facilityIds.includes(each))
    return depth >= 0 && depth <= this.#depth.contacts ? depth : undefined
  }

  /** Private reports about himself or his places are for those who may not know him. */
  #isSensitive({ private: isPrivate, subject, submitter }: KeyFacts): boolean {
    return (
      isPrivate === true &&
      submitter !== undefined &&
      this.user.own.has(subject as Subject) &&
      !this.subjects.has(submitter as Subject)
    )
  }

  #isNear(depth: number, { type, submitter }: KeyFacts): boolean {
    if (type !== 'data_record' || this.#depth.reports < 0 || depth <= this.#depth.reports)
      return true
    return submitter !== undefined && submitter === this.user.contactId
  }
}

const shortcodeOf = ({ patient_id: patient, place_id: place }: JsonObject): Subject | undefined => {
  const code = patient || place
  return isSubject(code) ? code : undefined
}

const isSubject = (value: unknown): value is Subject =>
  (typeof value === 'string' && value !== '') || typeof value === 'number'

/** The lowest depth counts for what is reached in several ways. */
function addSubject<T>(subjects: Map<T, number>, subject: T, depth: number): void {
  const known = subjects.get(subject)
  if (known === undefined || depth < known) subjects.set(subject, depth)
}
