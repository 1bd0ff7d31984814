/**
 * A database of this very server, with the rights of whoever started the replication: the operations themselves,
 * without a connection. What each call promises is told in `peer.ts`.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import type { User } from '../auth/user.ts'
import { SETTINGS } from '../configuration/settings.ts'
import type { EditResult } from '../database/commit-edits.ts'
import { printDigest, type StoredAttachment } from '../document/attachment.ts'
import { documentText } from '../document/document-text.ts'
import { fromParts, scanDocument } from '../document/incoming-document.ts'
import { parseRevision, printRevision, printRevisionId } from '../document/revision.ts'
import type { ChangesFilter } from '../operations/follow-changes.ts'
import type { DatabaseOperations, ServerOperations } from '../operations/operations.ts'
import type { DocumentView } from '../operations/read-document.ts'
import type { DocumentWrite } from '../operations/write-documents.ts'
import { sequenceText } from './http-changes.ts'
import type {
  ChangeRow,
  ChangesPage,
  ChangesQuery,
  FetchedDocument,
  Missing,
  Narrowing,
  Peer,
  PeerInfo,
  ReadCounter,
  RevisionStream,
  Wanted,
  WriteFailure,
} from './peer.ts'
import { type RetryPolicy, withRetries } from './retry.ts'

export interface LocalPeerParts {
  readonly server: ServerOperations
  readonly user: User
  readonly name: string
  readonly retry: RetryPolicy
  readonly signal: AbortSignal
}

export class LocalPeer implements Peer {
  readonly shownUrl: string
  readonly #parts: LocalPeerParts
  readonly #generations = new Map<string, number>()

  constructor(parts: LocalPeerParts) {
    this.#parts = parts
    this.shownUrl = parts.name
  }

  async info(): Promise<PeerInfo> {
    const { updateSeq, createdMs } = await (await this.#open()).info()
    return { updateSeq, instanceStartTime: String(createdMs) }
  }

  async create(params: Readonly<Record<string, string>>): Promise<void> {
    const { server, user, name } = this.#parts
    const partitioned = params.partitioned === 'true'
    try {
      await server.createDatabase(user, name, { partitioned })
    } catch (thrown) {
      if (!isFailure(thrown, 'database_exists')) throw thrown
    }
  }

  async readLocal(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    try {
      const { generation, body } = await (await this.#open()).readLocalDocument(id)
      this.#generations.set(id, generation)
      return JSON.parse(body.toString()) as Record<string, unknown>
    } catch (thrown) {
      if (isFailure(thrown, 'document_missing')) return undefined
      throw thrown
    }
  }

  async writeLocal(id: string, body: Readonly<Record<string, unknown>>): Promise<void> {
    const generation = this.#generations.get(id)
    const rev =
      generation === undefined ? undefined : { pos: 0, id: Buffer.from(String(generation)) }
    const write = { id, document: fromParts({ id, rev, body }) }
    const [result] = await (await this.#open()).writeDocuments([write], 'interactive')
    if (result?.ok === false) throw result.failure
    this.#generations.set(id, (generation ?? 0) + 1)
  }

  async changes(query: ChangesQuery, signal: AbortSignal): Promise<ChangesPage> {
    const operations = await this.#open()
    const { limit, allLeaves, waitMs } = query
    const filter = this.#filterOf(query.narrow, operations)
    const feed = await operations.openChanges({
      since: sequenceText(query.since),
      limit,
      allLeaves,
      feed: waitMs > 0 ? 'longpoll' : 'normal',
      descending: false,
      waitMs,
      beats: false,
      ...(filter === undefined ? {} : { filter }),
    })
    const rows: ChangeRow[] = []
    for await (const event of feed.events(signal)) {
      if (event.kind === 'rows') {
        for (const { idBytes, seq, revs } of event.rows) {
          const texts = revs.map(printRevision)
          rows.push({ id: idBytes.toString(), revs: texts, seq: operations.printSequence(seq) })
        }
      } else if (event.kind === 'end') {
        const { lastSeq, pending } = event
        return { rows, lastSeq: operations.printSequence(lastSeq), pending }
      }
    }
    return { rows, lastSeq: rows.at(-1)?.seq ?? query.since, pending: null }
  }

  async filterCode(designName: string, filterName: string): Promise<string> {
    const id = `_design/${designName}`
    const view = await this.#design(id)
    const design = JSON.parse(view.body.toString()) as { filters?: Record<string, unknown> }
    const code = design.filters?.[filterName]
    if (typeof code === 'string') return code
    throw new Failure('function_missing', { reason: `missing json key: ${filterName}` })
  }

  async #design(id: string): Promise<DocumentView> {
    try {
      return await (await this.#open()).readDocument(id)
    } catch (thrown) {
      if (!isFailure(thrown, 'document_missing')) throw thrown
      const reason = `Couldn't open document \`${id}\` from source database \`${this.shownUrl}\``
      throw new Failure('document_missing', { reason })
    }
  }

  async missing(
    revs: ReadonlyMap<string, readonly string[]>,
  ): Promise<ReadonlyMap<string, Missing>> {
    const offered = new Map([...revs].map(([id, list]) => [id, list.map(parseRevision)]))
    const differences = await (await this.#open()).compareRevisions(offered)
    return new Map(
      differences.map(({ id, missing, possibleAncestors }) => [
        id,
        { revs: missing.map(printRevision), ancestors: possibleAncestors.map(printRevision) },
      ]),
    )
  }

  async *readDocuments(
    wanted: readonly Wanted[],
    count: ReadCounter,
  ): AsyncGenerator<readonly FetchedDocument[]> {
    const operations = await this.#open()
    count.attempt()
    const requests = wanted.map(({ id, revs }) => ({ id, wanted: revs.map(parseRevision) }))
    for await (const batch of operations.openMany(requests, { latest: true, revs: true })) {
      const documents = batch.flatMap(opened =>
        (opened ?? []).flatMap(each => ('ok' in each ? [fetched(each.ok)] : [])),
      )
      count.documents(documents.length)
      yield documents
    }
  }

  async *openRevisions({ id, revs, ancestors }: Wanted): AsyncGenerator<RevisionStream> {
    const operations = await this.#open()
    const options = { latest: true, revs: true }
    const opened = await operations.openRevisions(id, revs.map(parseRevision), options)
    for (const each of opened ?? []) {
      if ('ok' in each) yield streamOf(operations, each.ok, knownPos(each.ok, ancestors))
    }
  }

  async writeDocuments(documents: readonly FetchedDocument[]): Promise<WriteFailure[]> {
    const operations = await this.#open()
    const failures: WriteFailure[] = []
    const writes: DocumentWrite[] = []
    for (const { id, text } of documents) {
      try {
        writes.push({ id, document: this.#scan(text) })
      } catch (thrown) {
        failures.push(failureOf(id, thrown))
      }
    }
    const { retry, signal } = this.#parts
    const results = await withRetries(retry, signal, () =>
      operations.writeDocuments(writes, 'replicated'),
    )
    return [...failures, ...failuresOf(writes, results)]
  }

  async writeRevision(revision: RevisionStream): Promise<WriteFailure | undefined> {
    const operations = await this.#open()
    const { id, text } = revision
    const bodies = revision.parts[Symbol.asyncIterator]()
    try {
      const document = this.#scan(text)
      const following = {
        next: async () => {
          const step = await bodies.next()
          return step.done ? undefined : step.value
        },
      }
      const attachments = await operations.prepareAttachments(document.attachments ?? [], following)
      const [result] = await operations.writeDocuments(
        [{ id, document, attachments }],
        'replicated',
      )
      if (result?.ok !== false) return undefined
      throw result.failure
    } catch (thrown) {
      if (isFailure(thrown, 'attachment_stub_missing')) throw thrown
      return failureOf(id, thrown)
    } finally {
      await bodies.return?.()
    }
  }

  async ensureFullCommit(): Promise<string> {
    return (await this.info()).instanceStartTime
  }

  close(): void {
    // nothing is held open
  }

  #scan(text: Buffer) {
    const bodyBytesMax = this.#parts.server.configuration.get(SETTINGS.maxDocumentSize)
    return scanDocument(text, 0, { bodyBytesMax }).document
  }

  /** Opened anew each time: rights may have been taken away, the database may be another by now. */
  async #open(): Promise<DatabaseOperations> {
    const { server, user, name } = this.#parts
    try {
      return await server.open(user, name)
    } catch (thrown) {
      if (isFailure(thrown, 'unauthorized') || isFailure(thrown, 'forbidden')) {
        const reason = `unauthorized to access or create database ${name}`
        throw new Failure('unauthorized', { reason }, thrown)
      }
      const isGone =
        isFailure(thrown, 'database_missing') || isFailure(thrown, 'database_name_invalid')
      if (!isGone) throw thrown
      const reason = `could not open ${name}`
      throw new Failure('replication_failed', { error: 'db_not_found', reason }, thrown)
    }
  }

  #filterOf(narrow: Narrowing, { user, name }: DatabaseOperations): ChangesFilter | undefined {
    if (narrow.kind === 'all') return undefined
    if (narrow.kind === 'ids') return { kind: 'ids', ids: narrow.ids }
    if (narrow.kind === 'selector') {
      return { kind: 'selector', selector: JSON.parse(narrow.selector) }
    }
    if (narrow.name === '_design') return { kind: 'design' }
    if (narrow.name === '_view') {
      const [design, view] = String(narrow.params.view ?? '').split('/')
      return { kind: 'view', design: design ?? '', name: view ?? '' }
    }
    const [design, filter] = narrow.name.split('/')
    if (design === undefined || filter === undefined) {
      throw new Failure('request_invalid', { reason: 'unknown builtin filter name' })
    }
    const request = filterRequest(name, user, narrow.params)
    return { kind: 'function', design, name: filter, request: async () => request }
  }
}

/** The request that a filter function sees, though there was none. */
function filterRequest(
  name: string,
  user: User,
  params: Readonly<Record<string, unknown>>,
): Buffer {
  const query = Object.fromEntries(
    Object.entries(params).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
  const userCtx = { db: name, name: user.name, roles: user.roles }
  const path = [name, '_changes']
  return Buffer.from(
    JSON.stringify({ info: { db_name: name }, method: 'GET', path, query, headers: {}, userCtx }),
  )
}

function fetched(view: DocumentView): FetchedDocument {
  const rev = printRevision(view.rev)
  const text = documentText({ ...view, trailing: revisionsMember(view) })
  return { id: view.id, rev, text, hasAttachments: view.attachments.length > 0 }
}

function revisionsMember({ revisions }: DocumentView): string[] {
  if (revisions === undefined) return []
  const ids = revisions.ids.map(id => JSON.stringify(printRevisionId(id)))
  return [`"_revisions":{"start":${revisions.start},"ids":[${ids.join(',')}]}`]
}

/** Contents that were added no later than this are with the other end already. */
function knownPos({ revisions }: DocumentView, ancestors: readonly string[]): number {
  if (revisions === undefined) return 0
  const { start, ids } = revisions
  const lineage = new Set(ids.map((id, index) => `${start - index}-${printRevisionId(id)}`))
  const known = ancestors.filter(rev => lineage.has(rev)).map(rev => parseRevision(rev).pos)
  return Math.max(0, ...known)
}

function streamOf(
  operations: DatabaseOperations,
  view: DocumentView,
  knownUpTo: number,
): RevisionStream {
  const entries = view.attachments.map(attachment => entryOf(attachment, knownUpTo))
  const members = entries.length === 0 ? [] : [`"_attachments":{${entries.join(',')}}`]
  const text = documentText({ ...view, trailing: [...revisionsMember(view), ...members] })
  const sent = view.attachments.filter(({ revpos }) => revpos > knownUpTo)
  return { id: view.id, rev: printRevision(view.rev), text, parts: contents(operations, sent) }
}

function entryOf(attachment: StoredAttachment, knownUpTo: number): string {
  const { name, contentType, revpos, length, encoding, encodedLength } = attachment
  const info = {
    content_type: contentType,
    revpos,
    digest: printDigest(attachment),
    length,
    ...(revpos > knownUpTo ? { follows: true } : { stub: true }),
    ...(encoding === 'gzip' ? { encoding, encoded_length: encodedLength } : {}),
  }
  return `${JSON.stringify(name)}:${JSON.stringify(info)}`
}

async function* contents(
  operations: DatabaseOperations,
  attachments: readonly StoredAttachment[],
): AsyncGenerator<AsyncIterable<Buffer>> {
  for (const attachment of attachments) yield operations.storedBytes(attachment)
}

function failuresOf(
  writes: readonly DocumentWrite[],
  results: readonly EditResult[],
): WriteFailure[] {
  return results.flatMap((result, index) =>
    result.ok ? [] : [failureOf((writes[index] as DocumentWrite).id, result.failure)],
  )
}

/** A document that cannot be written; what is no fault of the document goes on as a failure of the replication. */
function failureOf(id: string, thrown: unknown): WriteFailure {
  if (!isFailure(thrown) || !DOCUMENT_FAULTS.has(thrown.code)) throw thrown
  const { error, reason } = thrown.detail
  return { id, error: error ?? thrown.code, reason: reason ?? thrown.message }
}

const DOCUMENT_FAULTS: ReadonlySet<string> = new Set([
  'unauthorized',
  'forbidden',
  'request_invalid',
  'json_invalid',
  'document_invalid',
  'document_id_invalid',
  'document_too_large',
  'document_conflict',
  'attachment_too_large',
  'digest_mismatch',
  'design_document_invalid',
  'compilation_failed',
  'function_failed',
])
