/**
 * Documents of the main database that only admins may change. The database's own validation says so to whoever writes
 * there himself; what the application writes for people, it writes as the server, so it asks here first.
 */
import type { JsonObject } from '../documents/document.ts'

export const ADMIN_ONLY_IDS: readonly string[] = [
  'resources',
  'service-worker-meta',
  'zscore-charts',
  'settings',
  'branding',
  'partners',
  'privacy-policies',
  'extension-libs',
  'migration-log',
]

export const ADMIN_ONLY_TYPES: readonly string[] = [
  'form',
  'translations',
  'token_login',
  'ui-extension',
]

export const ADMIN_ONLY_REASON = 'You are not authorized to edit admin only docs'

export const isAdminOnly = ({ _id: id, type }: JsonObject): boolean =>
  isReservedId(id) || ADMIN_ONLY_TYPES.includes(type as string)

/** Ids that nobody may choose for a contact: those of the server, and of documents that are there once. */
export const isReservedId = (id: unknown): boolean =>
  typeof id === 'string' && (id.startsWith('_') || ADMIN_ONLY_IDS.includes(id))

const PREFIXES = ['form:', 'messages-', 'token:login:', 'org.svc.user:', 'org.couchdb.user:']

/** Also those whose beginning says what they are. */
export const isForeignId = (id: string): boolean =>
  isReservedId(id) || PREFIXES.some(prefix => id.startsWith(prefix))
