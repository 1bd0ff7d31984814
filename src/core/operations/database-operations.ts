/** One database for one member: the plain implementation, which sees everything. */
import { adminCheck, serverAdminCheck } from '../auth/authorize.ts'
import { parseSecurity, type Security } from '../auth/security-object.ts'
import type { User } from '../auth/user.ts'
import type { Database } from '../database/database.ts'
import type { DatabaseInfo, DatabaseOperations, ServerOperations } from './operations.ts'

export interface DatabaseParts {
  readonly database: Database
  readonly user: User
  readonly security: Security
  readonly server: ServerOperations
}

export class PlainDatabaseOperations implements DatabaseOperations {
  readonly database: Database
  readonly user: User
  readonly security: Security
  readonly #server: ServerOperations

  constructor(parts: DatabaseParts) {
    this.database = parts.database
    this.user = parts.user
    this.security = parts.security
    this.#server = parts.server
  }

  get name(): string {
    return this.database.name
  }

  info(): Promise<DatabaseInfo> {
    return readInfo(this.database)
  }

  securityText(): Promise<Buffer> {
    return this.database.securityText()
  }

  async setSecurity(text: Buffer): Promise<void> {
    if (this.#server.dialect.serverAdminForIndexAndSecurity) serverAdminCheck(this.user)
    else adminCheck(this.user, this.security)
    parseSecurity(JSON.parse(text.toString()))
    await this.database.setSecurity(text)
  }
}

export async function readInfo(database: Database): Promise<DatabaseInfo> {
  const [head, size] = await Promise.all([database.head(), database.store.size()])
  const { createdMs, partitioned, q, n } = database.properties
  return {
    name: database.name,
    createdMs,
    updateSeq: database.printSequence(head.updateSeq),
    purgeSeq: head.purgeSeq,
    purgeSeqText: database.printSequence(head.purgeSeq),
    fileBytes: size.fileBytes,
    liveBytes: size.liveBytes,
    externalBytes: head.externalBytes,
    liveCount: head.liveCount,
    deletedCount: head.deletedCount,
    compactRunning: false,
    partitioned,
    q,
    n,
  }
}
