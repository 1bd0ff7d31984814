/**
 * The users database for one user: the same operations, with its own rules in front. Passwords become hashes, documents
 * must look like accounts, and those who are no admins see and change their own document only.
 *
 * What is hidden is not there: every way of asking for somebody else's account is answered as for a name that nobody
 * has, so that no answer tells which names exist. (Trying to create an account does, as long as everybody may.)
 */

import { randomBytes } from 'node:crypto'
import { Failure, isFailure } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { userNameOfId } from '../../base/product-names.ts'
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
import type { EditResult, JudgedState } from '../database/commit-edits.ts'
import { loadDocuments } from '../database/load-documents.ts'
import type { LocalDocument } from '../database/local-documents.ts'
import type { EditMode } from '../document/apply-edit.ts'
import { fromParts } from '../document/incoming-document.ts'
import type { Revision } from '../document/revision.ts'
import type { RevisionDifference } from './compare-revisions.ts'
import { type DatabaseParts, PlainDatabaseOperations } from './database-operations.ts'
import type { KeyedListing, Listing, ListingRange, Namespace } from './list-documents.ts'
import { narrowedKeyedListing, narrowedListing } from './narrowed-rows.ts'
import type { OpenedView } from './query-view.ts'
import type { DocumentView, OpenedRevision, OpenOptions, ReadOptions } from './read-document.ts'
import type { ViewInfo } from './view-info.ts'
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
    this.#requireDesignReader(id)
    const view = this.#isHidden(id)
      ? undefined
      : this.#narrowed(await super.readDocument(id, options))
    if (view === undefined) throw missing()
    return view
  }

  /** They are of use to replicators only, and these read lists. */
  override async readLocalDocument(id: string): Promise<LocalDocument> {
    if (!this.#isAdmin) throw missing()
    return await super.readLocalDocument(id)
  }

  override async openRevisions(
    id: string,
    wanted: 'all' | readonly Revision[],
    options: OpenOptions,
  ): Promise<OpenedRevision[] | undefined> {
    this.#requireDesignReader(id)
    const opened = this.#isHidden(id) ? undefined : await super.openRevisions(id, wanted, options)
    const isSeen = opened?.every(each => 'missing' in each || this.#narrowed(each.ok) !== undefined)
    if (opened === undefined || !isSeen) {
      return wanted === 'all' ? undefined : wanted.map(rev => ({ missing: rev }))
    }
    return opened.map(each => ('ok' in each ? { ok: this.#narrowed(each.ok) ?? each.ok } : each))
  }

  override async listDocuments(namespace: Namespace, range: ListingRange): Promise<Listing> {
    this.#requireNamespace(namespace)
    const listing = await super.listDocuments(namespace, range)
    return this.#isAdmin ? listing : narrowedListing(listing, view => this.#seen(view))
  }

  override async listNamedDocuments(
    namespace: Namespace,
    ids: readonly (string | undefined)[],
    partition?: string,
  ): Promise<KeyedListing> {
    this.#requireNamespace(namespace)
    const listing = await super.listNamedDocuments(namespace, ids, partition)
    return this.#isAdmin ? listing : narrowedKeyedListing(listing, view => this.#seen(view))
  }

  /** Of others' accounts everything is missing, whether they exist or not. */
  override async compareRevisions(
    offered: ReadonlyMap<string, readonly Revision[]>,
  ): Promise<readonly RevisionDifference[]> {
    const asked = [...offered].filter(([id]) => !this.#isHidden(id))
    const compared = await super.compareRevisions(new Map(asked))
    const byId = new Map(compared.map(difference => [difference.id, difference]))
    return [...offered].flatMap(([id, missing]) => {
      if (this.#isHidden(id)) return { id, missing, possibleAncestors: [] }
      return byId.get(id) ?? []
    })
  }

  /** Views show what their functions emit, of everybody. */
  override openView(design: string, view: string): MaybePromise<OpenedView> {
    this.#requireDesignReader(`_design/${design}`)
    return super.openView(design, view)
  }

  override viewInfo(design: string): Promise<ViewInfo> {
    this.#requireDesignReader(`_design/${design}`)
    return super.viewInfo(design)
  }

  override async writeDocuments(
    writes: readonly DocumentWrite[],
    mode: EditMode,
  ): Promise<EditResult[]> {
    const results = await this.#writeOnce(writes, mode)
    // What a replicator sends cannot be in conflict: it is judged anew if the account changed since it was.
    for (let attempt = 1; mode === 'replicated' && attempt <= writes.length + SPARE; attempt++) {
      const again = results.flatMap((result, at) => (isJudgedAnew(result, writes[at]) ? at : []))
      if (again.length === 0) break
      const some = again.map(at => writes[at] as DocumentWrite)
      const repeated = await this.#writeOnce(some, mode)
      for (const [index, at] of again.entries()) results[at] = repeated[index] as EditResult
    }
    return results
  }

  async #writeOnce(writes: readonly DocumentWrite[], mode: EditMode): Promise<EditResult[]> {
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
    const twin = twinUserId(id)
    const [stored, other] = await loadDocuments(
      this.database,
      twin === undefined ? [id] : [id, twin],
    )
    const old = stored === undefined || stored.deleted ? undefined : parseBody(stored.body)
    // One account, two spellings of its id: whoever comes second is refused, or they could take it over.
    if (old === undefined && !document.deleted && other?.deleted === false) refuseTwin(id)
    const given = parseBody(document.body)
    const fields = document.deleted ? undefined : await this.#hashed(given)
    const body = fields === undefined ? given : withPasswordFields(given, fields)
    const { user } = this
    validateUserWrite({ id, body, deleted: document.deleted, old, user, isAdmin: this.#isAdmin })
    const judgedBy: JudgedState[] = [{ id, winner: stored?.winner }]
    if (twin !== undefined && old === undefined) judgedBy.push({ id: twin, winner: other?.winner })
    if (fields === undefined) return { ...write, judgedBy }
    const { body: bytes, bodyTerm } = fromParts({ body, deleted: document.deleted })
    return { ...write, judgedBy, document: { ...document, body: bytes, bodyTerm } }
  }

  #hashed(body: UserBody) {
    if (body.password === undefined) return undefined
    const peer = this.user.name ?? ''
    return this.#hashQueue.run(
      peer,
      () => false,
      () => hashUserPassword(body, this.#settings, randomBytes),
    )
  }

  /** Fails for those who may not see design documents, where it is one, and for its views. */
  #requireDesignReader(id: string): void {
    if (isDesign(id)) this.#shown({ id, body: EMPTY_BODY })
  }

  #requireNamespace(namespace: Namespace): void {
    if (namespace !== 'all' && !this.#isAdmin) serverAdminCheck(this.user)
  }

  /** Nothing of it is for this user, whatever is in it. */
  #isHidden(id: string): boolean {
    if (this.#isAdmin || this.#settings.usersDbPublic) return false
    return this.user.name === null || userNameOfId(id) !== this.user.name
  }

  /** As `#narrowed`, for documents of a list: design and local ones are left out. */
  #seen(view: DocumentView): DocumentView | undefined {
    return isDesign(view.id) || isLocal(view.id) ? undefined : this.#narrowed(view)
  }

  /** What the user may see of a document; the same view where that is all of it. */
  #narrowed(view: DocumentView): DocumentView | undefined {
    if (this.#isAdmin) return view
    const shown = this.#shown({ id: view.id, body: parseBody(view.body) })
    if (shown.kind === 'full') return view
    if (shown.kind === 'hidden') return undefined
    const { id, rev, deleted } = view
    return { id, rev, deleted, body: Buffer.from(JSON.stringify(shown.body)), attachments: [] }
  }

  #shown({ id, body }: { id: string; body: UserBody }) {
    return viewUserDocument({ id, body, user: this.user, isAdmin: this.#isAdmin }, this.#settings)
  }
}

/** Each round settles one of several revisions of an account at the least, unless somebody else was faster. */
const SPARE = 5

/** Uploads of a write that failed are gone, so such a write cannot be repeated here. */
const isJudgedAnew = (result: EditResult, write: DocumentWrite | undefined): boolean =>
  !result.ok && result.failure.detail.judgedAnew === true && (write?.attachments ?? []).length === 0

const missing = (): Failure => new Failure('document_missing', { reason: 'missing' })

const EMPTY_BODY: UserBody = {}

const parseBody = (bytes: Buffer): UserBody => JSON.parse(bytes.toString()) as UserBody
