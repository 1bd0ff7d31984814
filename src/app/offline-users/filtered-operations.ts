/**
 * The main database for an offline user: the same operations, answering no more than his devices may hold. What he asks
 * for beyond his scope is refused, also where it does not exist: he learns nothing about it.
 *
 * Lists and the feed of changes show four documents only, those that tell a device that it should look again. Views,
 * searches and maintenance are not for him. His scope is looked up when it is first needed, once for a request.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import type { EditResult } from '../../core/database/commit-edits.ts'
import type { EditMode } from '../../core/document/apply-edit.ts'
import type { Revision } from '../../core/document/revision.ts'
import {
  type DatabaseParts,
  PlainDatabaseOperations,
} from '../../core/operations/database-operations.ts'
import type { ChangesFeed, ChangesQuery } from '../../core/operations/follow-changes.ts'
import type {
  KeyedListing,
  ListedDocument,
  Listing,
  ListingRange,
  Namespace,
} from '../../core/operations/list-documents.ts'
import type { Opened, OpenRequest } from '../../core/operations/open-many.ts'
import type { AttachmentView } from '../../core/operations/read-attachment.ts'
import type {
  DocumentView,
  OpenedRevision,
  OpenOptions,
  ReadOptions,
} from '../../core/operations/read-document.ts'
import { type DocumentWrite, isDesign, isLocal } from '../../core/operations/write-documents.ts'
import { firewall, insufficient } from '../access/access-rule.ts'
import type { JsonObject } from '../documents/document.ts'
import { SETTINGS_ID } from '../settings/settings-store.ts'
import { EditorsOperations, type EditorsParts } from './editors-operations.ts'
import { judgeWrites, type StoredBody } from './judge-writes.ts'
import type { OfflineAccount } from './offline-user.ts'
import type { ReplicationDepth } from './replication-depth.ts'
import { CLIENT_DESIGN_ID, decideAlone, type Scope } from './scope.ts'

export interface FilteredParts extends EditorsParts {
  /** Where his settings document may be. */
  readonly settingsIds: readonly string[]
  readonly loadArea: () => Promise<OfflineArea>
}

/** What decides about documents: the account for many of them, else the scope, which costs more. */
export interface OfflineArea {
  readonly account: OfflineAccount
  readonly depth: ReplicationDepth
  readonly scope: () => Promise<Scope>
}

export class FilteredOperations extends EditorsOperations {
  /** All that is there, for what is shown of it. */
  readonly #whole: PlainDatabaseOperations
  readonly #shownIds: readonly string[]
  readonly #loadArea: () => Promise<OfflineArea>
  #area: Promise<OfflineArea> | undefined
  #scope: Promise<Scope> | undefined

  constructor(opened: DatabaseParts, parts: FilteredParts) {
    super(opened, parts)
    this.#whole = new PlainDatabaseOperations(opened)
    this.#shownIds = [CLIENT_DESIGN_ID, ...parts.settingsIds, 'service-worker-meta', SETTINGS_ID]
    this.#loadArea = parts.loadArea
  }

  override get narrowsDocuments(): boolean {
    return true
  }

  /** Views and searches ask it. */
  override requireListing(): void {
    throw firewall()
  }

  override openChanges(query: ChangesQuery): Promise<ChangesFeed> {
    return this.#whole.openChanges({ ...query, filter: { kind: 'ids', ids: this.#shownIds } })
  }

  override async listDocuments(namespace: Namespace, _range: ListingRange): Promise<Listing> {
    if (namespace !== 'all') throw firewall()
    const ids = [...this.#shownIds].sort()
    const { state, rows } = await this.#whole.listNamedDocuments('all', ids)
    const found: ListedDocument[] = []
    for await (const batch of rows) {
      for (const row of batch) if (row !== undefined && !row.deleted) found.push(row)
    }
    return { total: found.length, offset: 0, updateSeq: null, state, rows: once(found) }
  }

  override listNamedDocuments(
    namespace: Namespace,
    ids: readonly (string | undefined)[],
    partition?: string,
  ): Promise<KeyedListing> {
    if (namespace !== 'all') throw firewall()
    const isShown = (id: string | undefined): boolean =>
      id !== undefined && this.#shownIds.includes(id)
    return this.#whole.listNamedDocuments(
      'all',
      ids.map(id => (isShown(id) ? id : undefined)),
      partition,
    )
  }

  override async readDocument(id: string, options: ReadOptions = {}): Promise<DocumentView> {
    try {
      // Whichever revision is asked for is the one to be judged.
      const view = await this.#whole.readDocument(id, { ...options, latest: false })
      if (await this.#allows(view)) return view
    } catch (thrown) {
      if (!isFailure(thrown, 'document_missing')) throw thrown
    }
    throw insufficient()
  }

  override async openRevisions(
    id: string,
    wanted: 'all' | readonly Revision[],
    options: OpenOptions,
  ): Promise<OpenedRevision[] | undefined> {
    const opened = await this.#whole.openRevisions(id, wanted, { ...options, latest: false })
    return this.#allowedOf(opened)
  }

  override async *openMany(
    requests: readonly OpenRequest[],
    options: OpenOptions,
  ): AsyncGenerator<Opened[], void, undefined> {
    for await (const batch of this.#whole.openMany(requests, { ...options, latest: false })) {
      const allowed: Opened[] = []
      for (const opened of batch) allowed.push(await this.#allowedOf(opened))
      yield allowed
    }
  }

  /** Clients that name no revision are told so as if theirs were wrong: they then try again with one. */
  override async readAttachment(id: string, name: string, rev?: Revision): Promise<AttachmentView> {
    try {
      return await super.readAttachment(id, name, rev)
    } catch (thrown) {
      if (rev !== undefined || !isFailure(thrown, 'forbidden')) throw thrown
      const facts = { error: 'bad_request', reason: 'Invalid rev format' }
      throw new Failure('document_missing', facts, thrown)
    }
  }

  override async writeDocuments(
    writes: readonly DocumentWrite[],
    mode: EditMode,
  ): Promise<EditResult[]> {
    const refused = await this.#refused(writes)
    const accepted = writes.filter((_, index) => !refused.has(index))
    for (const index of refused) {
      await this.discardAttachments(writes[index]?.attachments ?? [])
    }
    const written = await super.writeDocuments(accepted, mode)
    let next = 0
    return writes.map((_, index) =>
      refused.has(index) ? { ok: false, failure: insufficient() } : (written[next++] as EditResult),
    )
  }

  override openDesign(): never {
    throw firewall()
  }

  override viewInfo(): never {
    throw firewall()
  }

  override find(): never {
    throw firewall()
  }

  override explain(): never {
    throw firewall()
  }

  override listIndexes(): never {
    throw firewall()
  }

  override createIndex(): never {
    throw firewall()
  }

  override deleteIndex(): never {
    throw firewall()
  }

  override deleteIndexDesigns(): never {
    throw firewall()
  }

  override securityText(): never {
    throw firewall()
  }

  override setSecurity(): never {
    throw firewall()
  }

  override revisionLimit(): never {
    throw firewall()
  }

  override setRevisionLimit(): never {
    throw firewall()
  }

  override purgedInfosLimit(): never {
    throw firewall()
  }

  override setPurgedInfosLimit(): never {
    throw firewall()
  }

  override purge(): never {
    throw firewall()
  }

  override purges(): never {
    throw firewall()
  }

  override compact(): never {
    throw firewall()
  }

  override compactDesign(): never {
    throw firewall()
  }

  override cleanUpViews(): never {
    throw firewall()
  }

  #areaOfUser(): Promise<OfflineArea> {
    this.#area ??= this.#loadArea()
    return this.#area
  }

  #scopeOfUser(): Promise<Scope> {
    this.#scope ??= this.#areaOfUser().then(({ scope }) => scope())
    return this.#scope
  }

  async #allows({ id, body }: DocumentView): Promise<boolean> {
    if (this.#shownIds.includes(id)) return true
    const { account, depth } = await this.#areaOfUser()
    const document = parse(body)
    const alone = decideAlone(account, depth, id, document)
    return alone ?? (await this.#scopeOfUser()).allows(id, document)
  }

  async #allowedOf(opened: Opened): Promise<OpenedRevision[]> {
    const allowed: OpenedRevision[] = []
    for (const each of opened ?? []) {
      if ('ok' in each && (await this.#allows(each.ok))) allowed.push(each)
    }
    return allowed
  }

  /** The places of writes that are not his to make. Local documents are every client's own. */
  async #refused(writes: readonly DocumentWrite[]): Promise<ReadonlySet<number>> {
    const places = [...writes.keys()].filter(at => !isLocal((writes[at] as DocumentWrite).id))
    if (places.length === 0) return new Set()
    const judged = places.map(at => writes[at] as DocumentWrite)
    const stored = await this.#storedBodies(judged.map(({ id }) => id))
    const refused = judgeWrites(
      await this.#scopeOfUser(),
      judged.map(({ id, document }, index) => ({
        id,
        isDesign: isDesign(id),
        deleted: document.deleted,
        body: parse(document.body),
        stored: stored[index],
      })),
    )
    return new Set([...refused].map(index => places[index] as number))
  }

  async #storedBodies(ids: readonly string[]): Promise<StoredBody[]> {
    const bodies: StoredBody[] = []
    const { rows } = await this.#whole.listNamedDocuments('all', ids)
    for await (const batch of rows) {
      for (const row of batch) {
        bodies.push(row === undefined || row.deleted ? undefined : parse(row.view({}).body))
      }
    }
    return bodies
  }
}

const parse = (body: Buffer): JsonObject => JSON.parse(body.toString()) as JsonObject

async function* once<T>(batch: readonly T[]): AsyncGenerator<readonly T[], void, undefined> {
  yield batch
}
