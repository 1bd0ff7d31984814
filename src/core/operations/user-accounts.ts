/**
 * Accounts for authentication: admins from the configuration, users from documents of the users database. What was read is
 * kept until the users database changes (one small engine get tells), so a change of password or roles counts from the
 * next request on, in every process.
 */
import { isFailure } from '../../base/errors.ts'
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
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
  readonly #kept = new Map<
    string,
    { database: Database; state: Buffer; user: UserDocument | undefined }
  >()
  /** The users database as it was found last. */
  #last: Database | undefined

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

  userDocument(name: string): MaybePromise<UserDocument | undefined> {
    const users = this.#configuration.get(SETTINGS.authenticationDb)
    const last = this.#last
    if (last === undefined || last.name !== users) return this.#lookUp(users, name)
    // A database that was deleted has no state any more, so the catalog need not be asked again.
    return after(stateOf(last), state =>
      state === undefined ? this.#lookUp(users, name) : this.#userAt(last, state, name),
    )
  }

  #lookUp(users: string, name: string): MaybePromise<UserDocument | undefined> {
    return after(this.#catalog.find(users), database => {
      this.#last = database
      if (database === undefined) return undefined
      return after(stateOf(database), (state = NO_STATE) => this.#userAt(database, state, name))
    })
  }

  #userAt(database: Database, state: Buffer, name: string): MaybePromise<UserDocument | undefined> {
    const kept = this.#kept.get(name)
    const isCurrent = kept?.database === database && kept.state.equals(state)
    return isCurrent ? kept.user : this.#read(database, state, name)
  }

  async #read(database: Database, state: Buffer, name: string): Promise<UserDocument | undefined> {
    const user = await readUser(database, name)
    if (this.#kept.size >= this.#configuration.get(SETTINGS.authCacheSize)) {
      const [oldest] = this.#kept.keys()
      if (oldest !== undefined) this.#kept.delete(oldest)
    }
    this.#kept.set(name, { database, state, user })
    return user
  }
}

/** The state of the database that an account was read from, or an older one: then it is read again. */
function stateOf(database: Database): MaybePromise<Buffer | undefined> {
  try {
    const head = database.headBytes()
    return head instanceof Promise ? head.catch(noState) : head
  } catch (thrown) {
    return noState(thrown)
  }
}

const NO_STATE = Buffer.alloc(0)

function noState(thrown: unknown): undefined {
  if (!isFailure(thrown, 'database_missing')) throw thrown
}

async function readUser(database: Database, name: string): Promise<UserDocument | undefined> {
  const found = (await loadUsers(database, name)).filter(document => document?.deleted === false)
  const [first, second] = found as StoredDocument[]
  if (first === undefined) return undefined
  const body = JSON.parse(first.body.toString()) as Record<string, unknown>
  const conflicted = first.conflicted && conflicts(decodeTree(first.tree)).length > 0
  // Two documents for one account: nobody can tell which counts.
  return readUserDocument(body, conflicted || second !== undefined)
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
