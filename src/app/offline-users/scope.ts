/**
 * What an offline user may see: his subjects, each with its depth below his places, and the test of a document or of a
 * row of the index against them. Pure.
 *
 * A scope is one look at the hierarchy (`load-scope.ts`); whoever writes contacts makes another one with them
 * (`including`). Many documents carry all that decides about them: `decideAlone` needs no such look.
 */
import { applicationDatabase } from '../../base/product-names.ts'
import type { JsonObject } from '../documents/document.ts'
import type { OfflineUser } from './offline-user.ts'
import type { ReplicationDepth } from './replication-depth.ts'
import {
  chainIds,
  FOR_ALL,
  isContactDocument,
  type KeyFacts,
  replicationKeys,
  type Subject,
} from './replication-keys.ts'

/** What clients run on their devices. */
export const CLIENT_DESIGN_ID = `_design/${applicationDatabase()}-client`

/**
 * May the user see this document? Undefined where only his subjects can tell; whatever else is said is what they would
 * say too.
 */
export function decideAlone(
  account: Omit<OfflineUser, 'own'>,
  depth: ReplicationDepth,
  id: string,
  document: JsonObject,
): boolean | undefined {
  if (id === CLIENT_DESIGN_ID || account.settingsIds.includes(id)) return true
  if (isContactDocument(document)) {
    if (depthOf(account, depth, id, document) !== undefined) return true
    return depth.primaryContacts ? undefined : false
  }
  const { keys, facts } = replicationKeys(id, document)
  if (keys.length === 0) return false
  const isTask = facts.type === 'task'
  const isHis = keys.some(
    key => key === FOR_ALL || (isTask && account.settingsIds.includes(key as string)),
  )
  return isHis ? true : undefined
}

/** Steps up to the nearest of his places; undefined where there is none, or too many. */
function depthOf(
  { facilityIds }: Pick<OfflineUser, 'facilityIds'>,
  { contacts }: ReplicationDepth,
  id: string,
  { parent }: JsonObject,
): number | undefined {
  const depth = [id, ...chainIds(parent)].findIndex(each => facilityIds.includes(each))
  return depth >= 0 && depth <= contacts ? depth : undefined
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
    const { user } = this
    const depth = isContactDocument(document) ? depthOf(user, this.#depth, id, document) : undefined
    if (depth === undefined) return undefined
    const code = shortcodeOf(document)
    return code === undefined
      ? [[id, depth]]
      : [
          [id, depth],
          [code, depth],
        ]
  }

  /** The scope once these were added, and those taken out; the same one where that changes nothing. */
  including(added: readonly (readonly [Subject, number])[], removed: readonly Subject[]): Scope {
    const isWider = added.some(
      ([subject, depth]) => !((this.subjects.get(subject) as number) <= depth),
    )
    if (!isWider && !removed.some(subject => this.subjects.has(subject))) return this
    const subjects = new Map(this.subjects)
    for (const [subject, depth] of added) addSubject(subjects, subject, depth)
    for (const subject of removed) subjects.delete(subject)
    return new Scope(this.user, this.#depth, subjects)
  }

  #allowsContact(id: string, document: JsonObject): boolean {
    if (depthOf(this.user, this.#depth, id, document) !== undefined) return true
    return this.#depth.primaryContacts && this.subjects.has(id)
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

export const shortcodeOf = ({
  patient_id: patient,
  place_id: place,
}: JsonObject): Subject | undefined => {
  const code = patient || place
  return isSubject(code) ? code : undefined
}

export const isSubject = (value: unknown): value is Subject =>
  (typeof value === 'string' && value !== '') || typeof value === 'number'

/** The lowest depth counts for what is reached in several ways. */
export function addSubject<T>(subjects: Map<T, number>, subject: T, depth: number): void {
  const known = subjects.get(subject)
  if (known === undefined || depth < known) subjects.set(subject, depth)
}
