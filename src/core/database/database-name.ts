/** Which names a database may have. Checked at creation only: asking for a bad name is asking for nothing. */
import { Failure } from '../../base/errors.ts'

const PLAIN = /^[a-z][a-z0-9_$()+/-]*$/
const SYSTEM = new Set(['_dbs', '_global_changes', '_metadata', '_nodes', '_replicator', '_users'])
/** The application's paths live beside databases. */
const RESERVED = new Set(['api'])
const SEGMENT_BYTES_MAX = 238

export function checkDatabaseName(name: string): void {
  if (!isAllowed(name)) {
    throw new Failure('database_name_invalid', {
      subject: name,
      reason: `Name: '${name}'. Only lowercase characters (a-z), digits (0-9), and any of the characters _, $, (, ), +, -, and / are allowed. Must begin with a letter.`,
    })
  }
  if (name.split('/').some(segment => segment.length > SEGMENT_BYTES_MAX)) {
    throw new Failure('database_name_too_long', {
      subject: name,
      reason: `At least one path segment of \`${name}\` is too long.`,
    })
  }
}

export const isSystemDatabase = (name: string): boolean => SYSTEM.has(lastSegment(name))
export const isUsersDatabase = (name: string): boolean => lastSegment(name) === '_users'
export const isReplicatorDatabase = (name: string): boolean => lastSegment(name) === '_replicator'

function isAllowed(name: string): boolean {
  if (RESERVED.has(name)) return false
  if (PLAIN.test(name) || SYSTEM.has(name)) return true
  const slash = name.lastIndexOf('/')
  return slash > 0 && PLAIN.test(name.slice(0, slash)) && SYSTEM.has(name.slice(slash + 1))
}

const lastSegment = (name: string): string => name.slice(name.lastIndexOf('/') + 1)
