/**
 * Whom a document is for: the keys under which it replicates. A user gets it when one of them is among his subjects.
 *
 * The same rules stand in the view `docs_by_replication_key`, which answers for all stored documents at once; these here
 * judge a single document, also one that is not stored yet. A test holds both against each other. Pure.
 */
import { CONTACT_DOCUMENT_TYPES } from '../contacts/contact-types.ts'
import { idIn, isObject, type JsonObject } from '../documents/document.ts'

/** An id or a short code. */
export type Subject = string | number

/** Everybody's. */
export const FOR_ALL = '_all'
/** Records that are about nobody known. */
export const UNASSIGNED = '_unassigned'

export interface KeyFacts {
  readonly type?: unknown
  /** Whom a record is about. */
  readonly subject?: unknown
  /** Who sent it in. */
  readonly submitter?: unknown
  readonly private?: boolean
}

export interface ReplicationKeys {
  readonly keys: readonly Subject[]
  readonly facts: KeyFacts
}

const IDS_FOR_ALL: ReadonlySet<string> = new Set([
  'resources',
  'branding',
  'partners',
  'service-worker-meta',
  'zscore-charts',
  'settings',
  'privacy-policies',
  'extension-libs',
])
const TYPES_FOR_ALL: ReadonlySet<unknown> = new Set(['form', 'translations'])
const UNKNOWN_SUBJECT: ReadonlySet<unknown> = new Set([
  'registration_not_found',
  'invalid_patient_id',
])

export const isContactDocument = ({ type }: JsonObject): boolean =>
  CONTACT_DOCUMENT_TYPES.includes(type as string)

export function replicationKeys(id: string, document: JsonObject): ReplicationKeys {
  const { type } = document
  if (IDS_FOR_ALL.has(id) || TYPES_FOR_ALL.has(type)) return { keys: [FOR_ALL], facts: {} }
  if (isContactDocument(document)) return { keys: [id], facts: { type } }
  if (type === 'task') return { keys: subjects(document.user), facts: { type } }
  if (type === 'target') return { keys: subjects(document.owner), facts: { type } }
  return type === 'data_record' ? recordKeys(document) : NO_KEYS
}

const NO_KEYS: ReplicationKeys = { keys: [], facts: {} }

function recordKeys(record: JsonObject): ReplicationKeys {
  const fields = isObject(record.fields) ? record.fields : {}
  const submitter = idIn(record.contact)
  const [subject = UNASSIGNED] = subjects(subjectOf(record, fields, submitter))
  const facts: KeyFacts = {
    type: record.type,
    subject,
    ...(record.form && submitter !== undefined ? { submitter } : {}),
    ...(fields.private ? { private: true } : {}),
  }
  if (!fields.needs_signoff || submitter === undefined) return { keys: [subject], facts }
  return { keys: [...new Set([subject, ...chainIds(record.contact)])], facts }
}

/** The first of what may say whom a record is about. */
function subjectOf(record: JsonObject, fields: JsonObject, submitter: string | undefined): unknown {
  if (!record.form) return record.sms_message ? submitter : recipientOf(record)
  if (submitter !== undefined && hasUnknownSubject(record)) return submitter
  return (
    record.patient_id ||
    fields.patient_id ||
    record.place_id ||
    fields.place_id ||
    fields.patient_uuid ||
    submitter
  )
}

const hasUnknownSubject = ({ errors }: JsonObject): boolean =>
  Array.isArray(errors) && errors.some(error => isObject(error) && UNKNOWN_SUBJECT.has(error.code))

/** Of the first message of the first task. */
function recipientOf({ tasks }: JsonObject): string | undefined {
  const task: unknown = Array.isArray(tasks) ? tasks[0] : undefined
  const messages = isObject(task) ? task.messages : undefined
  const message: unknown = Array.isArray(messages) ? messages[0] : undefined
  return isObject(message) ? idIn(message.contact) : undefined
}

const CHAIN_MAX = 50

/** Ids from a link upwards, as far as they are given; a chain that is too long is not followed to its end. */
export function chainIds(link: unknown): string[] {
  const ids: string[] = []
  for (let at = link; isObject(at) && ids.length < CHAIN_MAX; at = at.parent) {
    if (typeof at._id !== 'string' || at._id === '') break
    ids.push(at._id)
  }
  return ids
}

const subjects = (value: unknown): Subject[] =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' ? [value] : []
