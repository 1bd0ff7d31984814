/**
 * A `_replicator` database for one member: documents belong to who made them, others neither change them nor see the
 * passwords in them. The rules themselves are in `replicator-document.ts`.
 */
import { createHash } from 'node:crypto'
import { Failure, isFailure } from '../../base/errors.ts'
import { isDatabaseAdmin, serverAdminCheck } from '../auth/authorize.ts'
import type { EditResult } from '../database/commit-edits.ts'
import { loadDocument } from '../database/load-documents.ts'
import type { EditMode } from '../document/apply-edit.ts'
import { fromParts } from '../document/incoming-document.ts'
import type { Revision } from '../document/revision.ts'
import { type DatabaseParts, PlainDatabaseOperations } from '../operations/database-operations.ts'
import type {
  DocumentView,
  OpenedRevision,
  OpenOptions,
  ReadOptions,
} from '../operations/read-document.ts'
import type { DocumentWrite } from '../operations/write-documents.ts'
import { checkReplicatorWrite, withoutSecrets } from './replicator-document.ts'

export class ReplicatorDatabaseOperations extends PlainDatabaseOperations {
  readonly #isAdmin: boolean

  constructor(parts: DatabaseParts) {
    super(parts)
    this.#isAdmin = isDatabaseAdmin(parts.user, parts.security)
  }

  override get narrowsDocuments(): boolean {
    return !this.#isAdmin
  }

  /** Lists and feeds show everybody's documents. */
  override requireListing(): void {
    if (!this.#isAdmin) serverAdminCheck(this.user)
  }

  override async readDocument(id: string, options?: ReadOptions): Promise<DocumentView> {
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
        accepted.push(await this.#checked(write))
        results.push(undefined)
      } catch (thrown) {
        if (!isFailure(thrown)) throw thrown
        results.push({ ok: false, failure: thrown })
      }
    }
    const written = await super.writeDocuments(accepted, mode)
    let next = 0
    return results.map(result => result ?? (written[next++] as EditResult))
  }

  async #checked(write: DocumentWrite): Promise<DocumentWrite> {
    const { id, document } = write
    if (id.startsWith('_design/') || id.startsWith('_local/')) return write
    const stored = await loadDocument(this.database, id)
    const old = stored === undefined || stored.deleted ? undefined : stored.body
    const { user } = this
    const { body, deleted } = document
    const changed = checkReplicatorWrite({ body, deleted, old, user, isAdmin: this.#isAdmin })
    if (changed === undefined) return write
    const { body: kept, bodyTerm } = fromParts({ body: changed })
    return { ...write, document: { ...document, body: kept, bodyTerm } }
  }

  #narrowed(view: DocumentView): DocumentView {
    if (view.id.startsWith('_design/')) {
      if (this.#isAdmin) return view
      throw new Failure('forbidden', {
        reason: 'Only administrators can view design docs in the replicator database.',
      })
    }
    const body = withoutSecrets(view.body, this.user, this.#isAdmin)
    if (body === undefined) return view
    // Nobody may write back what has holes in it: the revision shown is none that exists.
    const id = createHash('md5').update(view.rev.id).update('shown').digest()
    return { ...view, body, rev: { pos: view.rev.pos, id }, attachments: [] }
  }
}
