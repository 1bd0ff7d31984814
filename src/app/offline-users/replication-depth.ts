/** How far down the hierarchy a user's devices hold contacts and reports, as his roles say in the settings. Pure. */
import { isObject } from '../documents/document.ts'
import type { Settings } from '../settings/settings.ts'

export interface ReplicationDepth {
  /** Steps below a facility down to which contacts replicate; Infinity for all. */
  readonly contacts: number
  /** The same for reports about them. */
  readonly reports: number
  /** Primary contacts of places come along, wherever they live. */
  readonly primaryContacts: boolean
}

const UNLIMITED: ReplicationDepth = {
  contacts: Infinity,
  reports: Infinity,
  primaryContacts: false,
}

/** The deepest entry of the user's roles; those of equal depth give what any of them gives. */
export function replicationDepth(roles: readonly string[], { all }: Settings): ReplicationDepth {
  const entries = Array.isArray(all.replication_depth) ? all.replication_depth : []
  const own = roles.flatMap(role => {
    const entry: unknown = entries.find(each => isObject(each) && each.role === role)
    const depth = isObject(entry) ? integer(entry.depth) : undefined
    if (!isObject(entry) || depth === undefined) return []
    const reports = integer(entry.report_depth) ?? Infinity
    return [
      { contacts: depth, reports, primaryContacts: entry.replicate_primary_contacts === true },
    ]
  })
  return own.length === 0 ? UNLIMITED : own.reduce(deeper)
}

function deeper(a: ReplicationDepth, b: ReplicationDepth): ReplicationDepth {
  if (a.contacts !== b.contacts) return a.contacts > b.contacts ? a : b
  return {
    contacts: a.contacts,
    reports: Math.max(a.reports, b.reports),
    primaryContacts: a.primaryContacts || b.primaryContacts,
  }
}

/** Settings are edited by hand: numbers may be texts. */
function integer(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) ? number : undefined
}
