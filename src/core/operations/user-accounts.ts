/**
 * Accounts for authentication: admins from the configuration, users from documents of the users database. A document is
 * read at every look-up (one or two engine gets) and parsed again only when its bytes changed, so a change of password
 * or roles counts from the next request on, in every process.
 */
import { isFailure } from '../../base/errors.ts'
import { type AccountSource, readUserDocument, type UserDocument } from '../auth/account.ts'
import { userIdsOf } from '../auth/users-database.ts'
import type { Configuration } from '../configuration/configuration.ts'
import { SETTINGS } from '../configuration/settings.ts'
import type { Catalog } from '../database/catalog.ts'
import type { Database } from '../database/database.ts'
import { loadDocuments } from '../database/load-documents.ts'
import type { StoredDocument } from '../database/stored-document.ts'
import { conflicts } from '../document/revision-tree.ts'
import { decodeTree } from '../document/revision-tree-codec.ts'

export class UserAccounts implements AccountSource {
  readonly #configuration: Configuration
  readonly #catalog: Catalog
  readonly #parsed = new Map<string, { body: Buffer; tree: Buffer; user: UserDocument }>()

  constructor(configuration: Configuration, catalog: Catalog) {
    this.#configuration = configuration
    this.#catalog = catalog
  }

  hasAdmins(): boolean {
    return this.#configuration.hasSection('admins')
  }

  admin(name: string): string | undefined {
    return this.#configuration.text('admins', name)
  }

  async userDocument(name: string): Promise<UserDocument | undefined> {
    const database = await this.#catalog.find(this.#configuration.get(SETTINGS.authenticationDb))
    if (database === undefined) return undefined
    const found = (await loadUsers(database, name)).filter(document => document?.deleted === false)
    const [first, second] = found as StoredDocument[]
    if (first === undefined) return undefined
    const user = this.#parse(first)
    return second === undefined ? user : { ...user, hasConflicts: true }
  }

  #parse(document: StoredDocument): UserDocument {
    const kept = this.#parsed.get(document.id)
    if (kept?.body.equals(document.body) && kept.tree.equals(document.tree)) return kept.user
    const body = JSON.parse(document.body.toString()) as Record<string, unknown>
    const hasConflicts = document.conflicted && conflicts(decodeTree(document.tree)).length > 0
    const user = readUserDocument(body, hasConflicts)
    if (this.#parsed.size >= this.#configuration.get(SETTINGS.authCacheSize)) {
      const [oldest] = this.#parsed.keys()
      if (oldest !== undefined) this.#parsed.delete(oldest)
    }
    this.#parsed.set(document.id, { body: document.body, tree: document.tree, user })
    return user
  }
}

/** A users database that is being deleted holds nobody. */
async function loadUsers(
  database: Database,
  name: string,
): Promise<(StoredDocument | undefined)[]> {
  try {
    return await loadDocuments(database, userIdsOf(name))
  } catch (thrown) {
    if (isFailure(thrown, 'store_missing')) return []
    throw thrown
  }
}
