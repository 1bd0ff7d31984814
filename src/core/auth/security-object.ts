/**
 * A database's security object: who administers it and who are its members.
 *
 * The JSON is stored and returned as it came (it may hold further members of the client's own);
 * this reads the part that decides. `readers` is the old name of `members` and counts when that is
 * absent. Nobody listed as member means that everybody may read and write.
 */
import { Failure } from '../../base/errors.ts'

export interface Security {
  readonly admins: NamesAndRoles
  readonly members: NamesAndRoles
}

export interface NamesAndRoles {
  readonly names: readonly string[]
  readonly roles: readonly string[]
}

const NOBODY: NamesAndRoles = Object.freeze({ names: [], roles: [] })

/** Nobody listed: public, and only server admins administer. */
export const OPEN_SECURITY: Security = Object.freeze({ admins: NOBODY, members: NOBODY })

/** The JSON text a new database starts with; empty for one that was never set, which lets everybody in. */
export const DEFAULT_SECURITY_TEXT: Readonly<Record<'everyone' | 'admin_only', string>> = {
  everyone: '',
  admin_only: '{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}',
}

/** What functions see of an object that was never set: what they were written for. */
export const UNSET_SECURITY_FOR_FUNCTIONS = Buffer.from(DEFAULT_SECURITY_TEXT.admin_only)

/** Reads and checks an object that a client sends, or one from storage. */
export function parseSecurity(value: unknown): Security {
  const object = objectOf(value) ?? refuse('Security object must be a JSON object')
  return {
    admins: readSection('admins', object.admins),
    members:
      object.members === undefined
        ? readSection('readers', object.readers)
        : readSection('members', object.members),
  }
}

export const isOpen = ({ members }: Security): boolean =>
  members.names.length === 0 && members.roles.length === 0

function readSection(name: string, value: unknown): NamesAndRoles {
  if (value === undefined) return NOBODY
  const section = objectOf(value) ?? refuse(`${name} must be a JSON object`)
  return { names: readTexts('names', section), roles: readTexts('roles', section) }
}

function readTexts(key: 'names' | 'roles', section: Json): readonly string[] {
  const list = section[key] ?? []
  if (section[key] !== null && Array.isArray(list) && list.every(isText)) return list
  return refuse(`${key} must be a JSON list of strings`)
}

type Json = Readonly<Record<string, unknown>>

const isText = (value: unknown): value is string => typeof value === 'string'

const objectOf = (value: unknown): Json | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined

function refuse(reason: string): never {
  throw new Failure('request_invalid', { reason })
}
