/** A database opened for a user who was found to be a member: what every single operation works with. */
import type { Security } from '../auth/security-object.ts'
import type { User } from '../auth/user.ts'
import type { Database } from '../database/database.ts'

export interface OpenedDatabase {
  readonly database: Database
  readonly user: User
  readonly security: Security
}
