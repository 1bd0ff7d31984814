/**
 * The rules of the users database: who may write which document, what it must look like, how a
 * password in it becomes a hash, and what somebody else sees of it. Pure; the write path calls
 * these in the order of this file.
 *
 * "Admin" here means administrator of the users database (a server admin, or one named in its
 * security object). A name belongs to one account whichever of the two id prefixes its document
 * has: creating a document whose twin (same name, other prefix) exists would be a second key to the
 * same door and is refused.
 */
import { Failure } from '../../base/errors.ts'
import { USER_ID_PREFIXES, userNameOfId } from '../../base/product-names.ts'
import type { AuthSettings } from './auth-settings.ts'
import { hashPassword, passwordFields } from './password.ts'
import { checkPasswordRules } from './password-rules.ts'
import { METRICS_ROLE, type User } from './user.ts'

/** A document's own members (no `_id`, `_rev` …). */
export type UserBody = Readonly<Record<string, unknown>>

export interface UserWrite {
  readonly id: string
  readonly body: UserBody
  readonly deleted: boolean
  /** The current revision; undefined when there is none or it is deleted. */
  readonly old: UserBody | undefined
  readonly user: User
  readonly isAdmin: boolean
}

/**
 * 1. Others' documents (design documents too) do not exist for a named user who is not admin, local
 * ones for nobody but admins.
 */
export function usersWriteGate(id: string, user: User, isAdmin: boolean): void {
  if (isAdmin || (user.name === null && !id.startsWith('_local/'))) return
  if (userNameOfId(id) !== user.name) throw new Failure('document_missing', { reason: 'missing' })
}

/**
 * The id under which the same account could exist too; the writer must look it up and refuse if it
 * is alive.
 */
export function twinUserId(id: string): string | undefined {
  const name = userNameOfId(id)
  if (name === undefined) return undefined
  const other = USER_ID_PREFIXES.find(prefix => !id.startsWith(prefix))
  return other === undefined ? undefined : other + name
}

/** The ids under which the document of `name` may be stored. */
export const userIdsOf = (name: string): readonly string[] =>
  USER_ID_PREFIXES.map(prefix => prefix + name)

export function refuseTwin(id: string): never {
  throw new Failure('document_conflict', { subject: id })
}

/** Members that hold or make a password; shown to nobody but their owner and admins. */
const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'password',
  'password_scheme',
  'pbkdf2_prf',
  'salt',
  'iterations',
  'derived_key',
  'password_sha',
  'totp',
])

/** What a new hash replaces. */
const HASH_FIELDS = [...SECRET_FIELDS].filter(field => field !== 'totp')

/** 2. A `password` becomes a hash with a new salt, placed first. Undefined: nothing to do. */
export async function hashUserPassword(
  body: UserBody,
  settings: Pick<AuthSettings, 'newPasswords' | 'passwordRules'>,
  random: (bytes: number) => Uint8Array,
): Promise<Readonly<Record<string, string | number>> | undefined> {
  const password = body.password
  // Null stands in documents of people who cannot log in with a password, and stays.
  if (password === undefined || password === null) return undefined
  if (typeof password !== 'string') {
    const shown = JSON.stringify(password)
    throw new Failure('forbidden', { reason: `Password value of '${shown}' is invalid.` })
  }
  checkPasswordRules(password, settings.passwordRules)
  const salt = Buffer.from(random(16)).toString('hex')
  return passwordFields(await hashPassword(password, settings.newPasswords, salt))
}

/** The body with new password fields in front and all old ones gone. */
export function withPasswordFields(
  body: UserBody,
  fields: Readonly<Record<string, string | number>>,
): UserBody {
  const rest = Object.entries(body).filter(([name]) => !HASH_FIELDS.includes(name))
  return { ...fields, ...Object.fromEntries(rest) }
}

/**
 * 3. What a written document must look like, after its password was hashed. Texts and order are
 * CouchDB's.
 */
export function validateUserWrite(write: UserWrite): void {
  if (write.id.startsWith('_design/') || write.id.startsWith('_local/')) return
  if (write.deleted) {
    const isOwn = write.user.name !== null && write.user.name === write.old?.name
    demand(write.isAdmin || isOwn, 'Only admins may delete other user docs.')
    return
  }
  const { name, roles } = checkShape(write)
  checkPasswordForm(write.body)
  if (!write.isAdmin) checkOwnership(write, name, roles)
  const isSystem = (role: string) => role.startsWith('_') && role !== METRICS_ROLE
  demand(!roles.some(isSystem), 'No system roles (starting with underscore) in users db.')
  demand(!name.startsWith('_'), 'Username may not start with underscore.')
  demand(!name.includes(':'), 'Character `:` is not allowed in usernames.')
}

function checkShape({ id, body, old }: UserWrite): { name: string; roles: readonly string[] } {
  const { type, name, roles } = body
  demand(type === 'user', 'doc.type must be user')
  demand(Boolean(name), 'doc.name is required')
  demand(Boolean(roles), 'doc.roles must exist')
  demand(Array.isArray(roles), 'doc.roles must be an array')
  demand(isTexts(roles), 'doc.roles can only contain strings')
  // Ids with neither prefix are told CouchDB's, which most clients use.
  const prefix = USER_ID_PREFIXES.find(known => id.startsWith(known)) ?? USER_ID_PREFIXES[1]
  demand(id === prefix + name, `Doc ID must be of the form ${prefix}name`)
  demand(typeof name === 'string', 'doc.name is required')
  demand(old === undefined || old.name === name, 'Usernames can not be changed.')
  return { name, roles }
}

const SCHEMES: readonly unknown[] = ['simple', 'pbkdf2', 'simple+pbkdf2']

function checkPasswordForm(body: UserBody): void {
  const { password_sha: sha, salt, password_scheme: scheme, iterations, derived_key: key } = body
  demand(
    !sha || Boolean(salt),
    'Users with password_sha must have a salt.See /_utils/script/couch.js for example code.',
  )
  demand(!scheme || SCHEMES.includes(scheme), `Password scheme \`${scheme}\` not supported.`)
  if (scheme !== 'pbkdf2' && scheme !== 'simple+pbkdf2') return
  demand(typeof iterations === 'number', 'iterations must be a number.')
  demand(typeof key === 'string', 'derived_key must be a string.')
}

function checkOwnership({ user, old }: UserWrite, name: string, roles: readonly string[]): void {
  if (old === undefined) {
    demand(roles.length === 0, 'Only _admin may set roles')
    return
  }
  demand(user.name === name, 'You may only update your own user document.')
  const before = isTexts(old.roles) ? [...old.roles].sort() : []
  const after = [...roles].sort()
  const same = before.length === after.length && before.every((role, at) => role === after[at])
  demand(same, 'Only _admin may edit roles')
}

/** What a reader gets of a document: all, some members (and `_id`, `_rev`), or "missing". */
export type UserDocumentView =
  | { readonly kind: 'full' }
  | { readonly kind: 'part'; readonly body: UserBody }
  | { readonly kind: 'hidden' }

const FULL: UserDocumentView = Object.freeze({ kind: 'full' })
const HIDDEN: UserDocumentView = Object.freeze({ kind: 'hidden' })

/**
 * With `users_db_public` others see the `public_fields`, or when none are configured everything but
 * what belongs to the password; that is never shown to others, whatever is configured.
 */
export function viewUserDocument(
  { id, body, user, isAdmin }: Pick<UserWrite, 'id' | 'body' | 'user' | 'isAdmin'>,
  settings: Pick<AuthSettings, 'usersDbPublic' | 'publicFields'>,
): UserDocumentView {
  if (isAdmin) return FULL
  if (id.startsWith('_design/')) {
    const reason = 'Only administrators can view design docs in the users database.'
    throw new Failure('forbidden', { reason })
  }
  if (user.name !== null && userNameOfId(id) === user.name) return FULL
  if (!settings.usersDbPublic) return HIDDEN
  const { publicFields } = settings
  const isShown = (field: string) =>
    !SECRET_FIELDS.has(field) && (publicFields.length === 0 || publicFields.includes(field))
  const shown = Object.entries(body).filter(([field]) => isShown(field))
  return shown.length === 0 ? HIDDEN : { kind: 'part', body: Object.fromEntries(shown) }
}

/**
 * May somebody who is not admin list documents (`_all_docs`, `_changes`), seeing each through the
 * view above?
 */
export const mayListUsers = (
  isAdmin: boolean,
  settings: Pick<AuthSettings, 'usersDbPublic'>,
): boolean => isAdmin || settings.usersDbPublic

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every(each => typeof each === 'string')

function demand(condition: boolean, reason: string): asserts condition {
  if (!condition) throw new Failure('forbidden', { reason })
}
