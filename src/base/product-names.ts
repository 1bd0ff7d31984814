/**
 * The one place that knows the products' names. The specification's neutral words (`svc`, `X-Svc-…`,
 * `org.svc.user:`) are ours; the words of the products that clients were written for are accepted
 * everywhere as aliases, so that unmodified clients work.
 */

/** Configuration sections that are one section under several names. The first name is ours. */
const SECTION_ALIASES: readonly (readonly string[])[] = [
  ['svc_httpd_auth', 'couch_httpd_auth', 'chttpd_auth'],
  ['svc_peruser', 'couch_peruser'],
  ['svc_auth_lockout', 'chttpd_auth_lockout'],
]

const CANONICAL_SECTION = new Map(
  SECTION_ALIASES.flatMap(names => names.map(name => [name, names[0] as string] as const)),
)

export const canonicalSection = (section: string): string =>
  CANONICAL_SECTION.get(section) ?? section

/** Request headers: our name first, then what clients of the other products send. Lower case. */
export const HEADER_NAMES = {
  fullCommit: ['x-svc-full-commit', 'x-couch-full-commit'],
  persist: ['x-svc-persist', 'x-couch-persist'],
  requestId: ['x-svc-request-id', 'x-couch-request-id'],
  wwwAuthenticate: ['x-svc-www-authenticate', 'x-couchdb-www-authenticate'],
  vhostPath: ['x-svc-vhost-path', 'x-couchdb-vhost-path'],
  requestedPath: ['x-svc-requested-path', 'x-couchdb-requested-path'],
  authUserName: ['x-auth-svc-username', 'x-auth-couchdb-username'],
  authRoles: ['x-auth-svc-roles', 'x-auth-couchdb-roles'],
  authToken: ['x-auth-svc-token', 'x-auth-couchdb-token'],
} as const

/** Id prefixes of user documents: ours, then the alias. */
export const USER_ID_PREFIXES = ['org.svc.user:', 'org.couchdb.user:'] as const

/** The name in a user document's id, whichever prefix it has. */
export function userNameOfId(id: string): string | undefined {
  const prefix = USER_ID_PREFIXES.find(candidate => id.startsWith(candidate))
  return prefix === undefined ? undefined : id.slice(prefix.length)
}

/** Databases of the application are called after the product. */
const APPLICATION = 'svc'
const APPLICATION_ALIAS = 'medic'

/** Ours first. */
export const APPLICATION_NAMES = [APPLICATION, APPLICATION_ALIAS] as const

/** @param part `sentinel`, `logs` …; without one it is the main database */
export const applicationDatabase = (part?: string): string =>
  part === undefined ? APPLICATION : `${APPLICATION}-${part}`

/** Whether it is what the product is called. */
export const isApplicationName = (name: string): boolean =>
  (APPLICATION_NAMES as readonly string[]).includes(name)

/** A name that begins with the product's, with ours instead. */
export const applicationName = (name: string): string =>
  name === APPLICATION_ALIAS || name.startsWith(`${APPLICATION_ALIAS}-`)
    ? `${APPLICATION}${name.slice(APPLICATION_ALIAS.length)}`
    : name

const PARTS = 'sentinel|users-meta|logs|vault|user-|purged-'
const UPGRADE_ALIAS = 'horti-upgrade'
const END = '(?=[/?#]|$)'
const MAIN_DESIGN = `/+${APPLICATION}/+_design(?:/+|%2F)`
const ALIASES: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`^/+${APPLICATION_ALIAS}(?=[/?#]|$|-(?:${PARTS}))`), `/${APPLICATION}`],
  [new RegExp(`^(${MAIN_DESIGN})${APPLICATION_ALIAS}(?=[/?#-]|$)`, 'i'), `$1${APPLICATION}`],
  [
    new RegExp(`^(${MAIN_DESIGN}[^/?#]+/+_rewrite/+[^/?#]+/+)${APPLICATION_ALIAS}${END}`),
    `$1${APPLICATION}`,
  ],
  // The document that tells how an upgrade goes was called after the program that did it.
  [new RegExp(`^(/+${APPLICATION}/+)${UPGRADE_ALIAS}${END}`), `$1${APPLICATION}-upgrade`],
]

/** A request target in which the application's databases and design documents may have their other names. */
export const canonicalTarget = (target: string): string =>
  target.includes(APPLICATION_ALIAS) || target.includes(UPGRADE_ALIAS)
    ? ALIASES.reduce((text, [pattern, name]) => text.replace(pattern, name), target)
    : target
