/**
 * Who makes a request, after authentication: a name (or nobody), roles, and how the name was
 * proved.
 *
 * Everything that decides about rights takes a `User`, never a request. The role `_admin` is the
 * server administrator; it comes from the admins section of the configuration, from proxies and
 * tokens that the operator trusts, or to everybody while no admin exists ("admin party"), never
 * from user documents.
 */
export interface User {
  readonly name: string | null
  readonly roles: readonly string[]
  /** Absent for anonymous requests. `default` is Basic, as CouchDB calls it. */
  readonly authenticated?: AuthenticationMethod
}

export type AuthenticationMethod = 'cookie' | 'default' | 'proxy' | 'jwt'

export const SERVER_ADMIN_ROLE = '_admin'
export const METRICS_ROLE = '_metrics'

export const ANONYMOUS: User = Object.freeze({ name: null, roles: Object.freeze([]) })

/** Everybody, while the configuration names no admin. */
export const ADMIN_PARTY: User = Object.freeze({
  name: null,
  roles: Object.freeze([SERVER_ADMIN_ROLE]),
})

export const isServerAdmin = (user: User): boolean => user.roles.includes(SERVER_ADMIN_ROLE)
