/**
 * Per-user databases: each user document gets a database of its own, named after the hex of the
 * user's name, with the user as its admin and member. Pure: names and security objects; following
 * `_users` and creating or deleting databases is left to others.
 */
import type { UserBody } from './users-database.ts'

export const DEFAULT_PERUSER_PREFIX = 'userdb-'

/** Hex, because names may hold characters that database names may not. */
export const userDatabaseName = (name: string, prefix = DEFAULT_PERUSER_PREFIX): string =>
  prefix + Buffer.from(name).toString('hex')

/** The name whose database this is; undefined for other databases. */
export function userOfDatabase(
  database: string,
  prefix = DEFAULT_PERUSER_PREFIX,
): string | undefined {
  if (!database.startsWith(prefix)) return undefined
  const hex = database.slice(prefix.length)
  if (!/^(?:[0-9a-f]{2})+$/.test(hex)) return undefined
  const name = Buffer.from(hex, 'hex').toString('utf8')
  return userDatabaseName(name, prefix) === database ? name : undefined
}

/** A security object with the name among admins and members. Undefined: it is there already. */
export const withUser = (security: UserBody, name: string): UserBody | undefined =>
  editNames(security, names => (names.includes(name) ? undefined : [...names, name]))

/** A security object without the name. Undefined: it was not there. */
export const withoutUser = (security: UserBody, name: string): UserBody | undefined =>
  editNames(security, names =>
    names.includes(name) ? names.filter(each => each !== name) : undefined,
  )

function editNames(
  security: UserBody,
  edit: (names: readonly unknown[]) => readonly unknown[] | undefined,
): UserBody | undefined {
  let edited: UserBody | undefined
  for (const section of ['admins', 'members']) {
    const lists = (security[section] ?? {}) as UserBody
    const names = edit(Array.isArray(lists.names) ? lists.names : [])
    if (names) edited = { ...(edited ?? security), [section]: { ...lists, names } }
  }
  return edited
}
