/**
 * Databases of users: while `[svc_peruser]` is switched on, everybody with an account gets a database of his own, and
 * loses it (or his place in it) with the account. Runs in one process of the tree.
 *
 * It follows the users database and keeps how far it came in a local document there, after the work is done: a
 * process that begins anew, or is switched on later, makes good what it missed. All it does can be done twice. A
 * database is closed to everybody else from its first moment, and stays so when its user is gone.
 */
import { isFailure } from '../../base/errors.ts'
import { userNameOfId } from '../../base/product-names.ts'
import { userDatabaseName, withoutUser, withUser } from '../auth/peruser.ts'
import { DEFAULT_SECURITY_TEXT, isOpen, parseSecurity } from '../auth/security-object.ts'
import { SERVER_ADMIN_ROLE, type User } from '../auth/user.ts'
import { type UserBody, userIdsOf } from '../auth/users-database.ts'
import { SETTINGS } from '../configuration/settings.ts'
import { loadDocuments } from '../database/load-documents.ts'
import { fromParts } from '../document/incoming-document.ts'
import type { Notices } from '../notices/notices.ts'
import type { DatabaseOperations, ServerOperations } from './operations.ts'

export interface UserDatabasesParts {
  readonly server: ServerOperations
  readonly notices: Notices
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void
  /** Rejects when the signal fires. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<unknown>
}

interface Plan {
  readonly usersDatabase: string
  readonly prefix: string
  readonly q: number
  readonly deletes: boolean
}

const ADMIN: User = { name: null, roles: [SERVER_ADMIN_ROLE] }
const CHECKPOINT = '_local/svc_peruser'
const FEED_WAIT_MS = 60_000
const AGAIN_MS_MAX = 30_000
const PREFIX = /^[a-z][a-z0-9_$()+/-]*$/

export class UserDatabases {
  readonly #parts: UserDatabasesParts
  #plan: string | undefined
  #run: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined
  #unsubscribe: (() => void)[] = []

  constructor(parts: UserDatabasesParts) {
    this.#parts = parts
  }

  /** Begins to heed the configuration. */
  start(): void {
    const { notices, server } = this.#parts
    this.#unsubscribe = [
      server.configuration.onChange(() => this.#heed()),
      notices.subscribe(({ kind, name }) => {
        const users = server.configuration.get(SETTINGS.authenticationDb)
        if (kind === 'database_created' && name === users) this.#heed(true)
      }),
    ]
    this.#heed()
  }

  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#run?.stop.abort()
    await this.#run?.ended
  }

  #heed(anew = false): void {
    const plan = this.#readPlan()
    const key = plan && JSON.stringify(plan)
    if (key === this.#plan && !anew) return
    this.#plan = key
    const before = this.#run
    before?.stop.abort()
    if (plan === undefined) return
    const stop = new AbortController()
    const ended = (before?.ended ?? Promise.resolve()).then(() => this.#follow(plan, stop.signal))
    this.#run = { stop, ended }
  }

  #readPlan(): Plan | undefined {
    const { configuration } = this.#parts.server
    if (!configuration.get(SETTINGS.peruserEnable)) return undefined
    const prefix = configuration.get(SETTINGS.peruserPrefix)
    if (!PREFIX.test(prefix)) {
      const facts = { prefix }
      this.#parts.warn('databases of users cannot be made: database_prefix is no name', facts)
      return undefined
    }
    return {
      usersDatabase: configuration.get(SETTINGS.authenticationDb),
      prefix,
      q: configuration.get(SETTINGS.peruserQ),
      deletes: configuration.get(SETTINGS.peruserDeleteDbs),
    }
  }

  /** Until it is told to stop, or there is no users database. */
  async #follow(plan: Plan, signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        const users = await this.#parts.server.open(ADMIN, plan.usersDatabase)
        await this.#followChanges(users, plan, signal)
        if (users.database.ended) return
        failures = 0
      } catch (thrown) {
        if (isFailure(thrown, 'database_missing') || isFailure(thrown, 'engine_closed')) return
        failures++
        this.#parts.warn('databases of users are not up to date', { reason: String(thrown) })
      }
      const waitMs = Math.min(AGAIN_MS_MAX, 100 * 2 ** Math.min(failures, 10))
      await this.#parts.wait(waitMs, signal).catch(() => {})
    }
  }

  async #followChanges(users: DatabaseOperations, plan: Plan, signal: AbortSignal): Promise<void> {
    const feed = await users.openChanges({
      since: await readCheckpoint(users, plan),
      limit: Number.MAX_SAFE_INTEGER,
      allLeaves: false,
      feed: 'continuous',
      descending: false,
      waitMs: FEED_WAIT_MS,
      beats: true,
    })
    for await (const event of feed.events(signal)) {
      if (event.kind !== 'rows') continue
      for (const { id } of event.rows) {
        const name = userNameOfId(id)
        if (name === undefined || name === '') continue
        if (signal.aborted) return
        await this.#bringUp(users, name, plan)
      }
      const last = event.rows.at(-1)
      if (last !== undefined) await writeCheckpoint(users, plan, users.printSequence(last.seq))
    }
  }

  async #bringUp(users: DatabaseOperations, name: string, plan: Plan): Promise<void> {
    // Either of the two ids makes the account; what is there now counts, not what the change was.
    const documents = await loadDocuments(users.database, userIdsOf(name))
    const isThere = documents.some(document => document?.deleted === false)
    const database = userDatabaseName(name, plan.prefix)
    try {
      if (isThere) await this.#give(database, name, plan)
      else await this.#take(database, name, plan)
    } catch (thrown) {
      // Only this user has none; all others go on.
      if (!isFailure(thrown, 'database_name_too_long')) throw thrown
      this.#parts.warn('a name is too long for a database', { name })
    }
  }

  async #give(database: string, name: string, { q }: Plan): Promise<void> {
    const { server } = this.#parts
    const closed = JSON.parse(DEFAULT_SECURITY_TEXT.admin_only) as UserBody
    const security = JSON.stringify(withUser(closed, name))
    try {
      await server.createDatabase(ADMIN, database, { q, security })
    } catch (thrown) {
      if (!isFailure(thrown, 'database_exists')) throw thrown
      await this.#editSecurity(database, before => withUser(before, name))
    }
  }

  async #take(database: string, name: string, { deletes }: Plan): Promise<void> {
    try {
      if (deletes) await this.#parts.server.deleteDatabase(ADMIN, database)
      else await this.#editSecurity(database, before => closedWithout(before, name))
    } catch (thrown) {
      if (!isFailure(thrown, 'database_missing')) throw thrown
    }
  }

  async #editSecurity(
    database: string,
    edit: (before: UserBody) => UserBody | undefined,
  ): Promise<void> {
    const operations = await this.#parts.server.open(ADMIN, database)
    const text = (await operations.securityText()).toString()
    const before = (text === '' ? {} : JSON.parse(text)) as UserBody
    const after = edit(before)
    if (after !== undefined) await operations.setSecurity(Buffer.from(JSON.stringify(after)))
  }
}

/** A database without members is everybody's: this one must not become that. */
function closedWithout(security: UserBody, name: string): UserBody | undefined {
  const without = withoutUser(security, name)
  if (without === undefined || !isOpen(parseSecurity(without))) return without
  const members = without.members as UserBody
  return { ...without, members: { ...members, roles: [SERVER_ADMIN_ROLE] } }
}

/** Where to begin: at the first change, unless all up to another was done under the same prefix. */
async function readCheckpoint(users: DatabaseOperations, { prefix }: Plan): Promise<string> {
  try {
    const { body } = await users.readLocalDocument(CHECKPOINT)
    const kept = JSON.parse(body.toString()) as {
      since?: unknown
      prefix?: unknown
      life?: unknown
    }
    const isOurs = kept.prefix === prefix && kept.life === users.database.life
    return isOurs && typeof kept.since === 'string' ? kept.since : '0'
  } catch (thrown) {
    if (isFailure(thrown, 'document_missing')) return '0'
    throw thrown
  }
}

async function writeCheckpoint(
  users: DatabaseOperations,
  { prefix }: Plan,
  since: string,
): Promise<void> {
  const document = fromParts({ body: { since, prefix, life: users.database.life } })
  const [result] = await users.writeDocuments([{ id: CHECKPOINT, document }], 'interactive')
  if (result?.ok === false) throw result.failure
}
