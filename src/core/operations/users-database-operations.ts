/**
 * The users database for one user: the same operations, with its own rules in front. Passwords become hashes, documents
 * must look like accounts, and those who are no admins see and change their own document only.
 */
import { randomBytes } from 'node:crypto'
import { Failure, isFailure } from '../../base/errors.ts'
import type { AuthSettings } from '../auth/auth-settings.ts'
import { isDatabaseAdmin, serverAdminCheck } from '../auth/authorize.ts'
import type { HashQueue } from '../auth/hash-queue.ts'
import {
  hashUserPassword,
  mayListUsers,
  refuseTwin,
  twinUserId,
  type UserBody,
  usersWriteGate,
  validateUserWrite,
  viewUserDocument,
  withPasswordFields,
} from '../auth/users-database.ts'
import type { EditResult } from '../database/commit-edits.ts'
import { loadDocument } from '../database/load-documents.ts'
import type { EditMode } from '../document/apply-edit.ts'
import { fromParts } from '../document/incoming-document.ts'
import type { Revision } from '../document/revision.ts'
import { type DatabaseParts, PlainDatabaseOperations } from './database-operations.ts'
import type { DocumentView, OpenedRevision, OpenOptions, ReadOptions } from './read-document.ts'
import { type DocumentWrite, isDesign, isLocal } from './write-documents.ts'

export interface UsersDatabaseParts extends DatabaseParts {
  readonly settings: AuthSettings
  readonly hashQueue: HashQueue
}

export class UsersDatabaseOperations extends PlainDatabaseOperations {
  readonly #settings: AuthSettings
  readonly #hashQueue: HashQueue
  readonly #isAdmin: boolean

  constructor(parts: UsersDatabaseParts) {
    super(parts)
    this.#settings = parts.settings
    this.#hashQueue = parts.hashQueue
    this.#isAdmin = isDatabaseAdmin(parts.user, parts.security)
  }

  /** Lists and feeds show everybody's accounts: for admins, unless accounts are public. */
  override requireListing(): void {
    if (!mayListUsers(this.#isAdmin, this.#settings)) serverAdminCheck(this.user)
  }

  override get narrowsDocuments(): boolean {
    return !this.#isAdmin
  }

  override async readDocument(id: string, options?: ReadOptions): Promise<DocumentView> {
    if (isDesign(id)) this.#shown({ id, body: EMPTY_BODY })
    return this.#narrowed(await super.readDocument(id, options))
  }

  override async openRevisions(
    id: string,
    wanted: 'all' | readonly Revision[],
    options: OpenOptions,
  ): Promise<OpenedRevision[] | undefined> {
    const opened = await super.openRevisions(id, wanted, options)
    return opened?.map(each => ('ok' in each ? { ok: this.#narrowed(each.ok) } : each))
  }

  override async writeDocuments(
    writes: readonly DocumentWrite[],
    mode: EditMode,
  ): Promise<EditResult[]> {
    const results: (EditResult | undefined)[] = []
    const accepted: DocumentWrite[] = []
    for (const write of writes) {
      try {
        accepted.push(await this.#prepare(write))
        results.push(undefined)
      } catch (thrown) {
        if (!isFailure(thrown)) throw thrown
        results.push({ ok: false, failure: thrown })
        await this.discardAttachments(write.attachments ?? [])
      }
    }
    const written = await super.writeDocuments(accepted, mode)
    let next = 0
    return results.map(result => result ?? (written[next++] as EditResult))
  }

  /** A write as it will be stored, after all that the users database asks of it. */
  async #prepare(write: DocumentWrite): Promise<DocumentWrite> {
    const { id, document } = write
    usersWriteGate(id, this.user, this.#isAdmin)
    if (isDesign(id) || isLocal(id)) return write
    const stored = await loadDocument(this.database, id)
    const old = stored === undefined || stored.deleted ? undefined : parseBody(stored.body)
    if (old === undefined && !document.deleted) await this.#refuseTwin(id)
    const given = parseBody(document.body)
    const fields = document.deleted ? undefined : await this.#hashed(given)
    const body = fields === undefined ? given : withPasswordFields(given, fields)
    const { user } = this
    validateUserWrite({ id, body, deleted: document.deleted, old, user, isAdmin: this.#isAdmin })
    if (fields === undefined) return write
    const hashed = fromParts({ body, deleted: document.deleted })
    return { ...write, document: { ...document, body: hashed.body, bodyTerm: hashed.bodyTerm } }
  }

  #hashed(body: UserBody) {
    if (body.password === undefined) return undefined
    const peer = this.user.name ?? ''
    return this.#hashQueue.run(peer, false, () =>
      hashUserPassword(body, this.#settings, randomBytes),
    )
  }

  /** One account, two spellings of its id: whoever comes second is refused, or they could take it over. */
  async #refuseTwin(id: string): Promise<void> {
    const twin = twinUserId(id)
    const stored = twin === undefined ? undefined : await loadDocument(this.database, twin)
    if (stored !== undefined && !stored.deleted) refuseTwin(id)
  }

  #narrowed(view: DocumentView): DocumentView {
    if (this.#isAdmin) return view
    const shown = this.#shown({ id: view.id, body: parseBody(view.body) })
    if (shown.kind === 'full') return view
    if (shown.kind === 'hidden') throw new Failure('document_missing', { reason: 'missing' })
    const { id, rev, deleted } = view
    return { id, rev, deleted, body: Buffer.from(JSON.stringify(shown.body)), attachments: [] }
  }

  #shown({ id, body }: { id: string; body: UserBody }) {
    return viewUserDocument({ id, body, user: this.user, isAdmin: this.#isAdmin }, this.#settings)
  }
}

const EMPTY_BODY: UserBody = {}

const parseBody = (bytes: Buffer): UserBody => JSON.parse(bytes.toString()) as UserBody
