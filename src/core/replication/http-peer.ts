/**
 * A database reached by HTTP, on a server that speaks CouchDB's protocol, ours included. What each call promises is
 * told in `peer.ts`; how connections behave in `http-client.ts`.
 *
 * A server that does not know `_bulk_get` is asked document by document from then on.
 */
import { Failure } from '../../base/errors.ts'
import { BulkReading, type IdAndRev } from './bulk-reading.ts'
import { elementsOf, ItemCutter, membersOf } from './cut-json.ts'
import type { RemoteEndpoint } from './endpoint.ts'
import { showEndpoint } from './endpoint.ts'
import { fetchedDocument } from './fetched-document.ts'
import { changesCall, readPage, sequenceText } from './http-changes.ts'
import {
  type ClientCall,
  type ClientOptions,
  type HttpAnswer,
  HttpClient,
  jsonCall,
} from './http-client.ts'
import { encodeDocumentId, readRevisions } from './http-revisions.ts'
import { followingOf, relatedBody } from './multipart-stream.ts'
import type {
  ChangesPage,
  ChangesQuery,
  FetchedDocument,
  Missing,
  Peer,
  PeerInfo,
  ReadCounter,
  RevisionStream,
  Wanted,
  WriteFailure,
} from './peer.ts'
import type { PeerSequence } from './peer-sequence.ts'
import { passing, type RetryPolicy, withRetries } from './retry.ts'

export interface HttpPeerOptions extends ClientOptions {
  readonly retry: RetryPolicy
  readonly useBulkGet: boolean
  /** Ends everything that is under way. */
  readonly signal: AbortSignal
}

const DOCUMENT_BYTES_MAX = 256 * 1024 * 1024
const SINGLE_READS_AT_ONCE = 8

export class HttpPeer implements Peer {
  readonly shownUrl: string
  readonly #client: HttpClient
  readonly #options: HttpPeerOptions
  /** Revisions of local documents as they were last seen. */
  readonly #localRevs = new Map<string, string>()
  #knowsBulkGet: boolean

  constructor(endpoint: RemoteEndpoint, options: HttpPeerOptions) {
    this.shownUrl = showEndpoint(endpoint)
    this.#client = new HttpClient(endpoint, options)
    this.#options = options
    this.#knowsBulkGet = options.useBulkGet
  }

  async info(): Promise<PeerInfo> {
    const answer = await this.#call({ method: 'GET', path: '' }, [404])
    if (answer.status === 404) {
      await answer.drop()
      throw this.#notFound()
    }
    const info = (await answer.json()) as { update_seq?: unknown; instance_start_time?: unknown }
    return {
      updateSeq: info.update_seq,
      instanceStartTime: String(info.instance_start_time ?? '0'),
    }
  }

  async create(params: Readonly<Record<string, string>>): Promise<void> {
    const query = new URLSearchParams(params).toString()
    const path = query === '' ? '' : `?${query}`
    const statuses = [400, 404, 405, 409, 412]
    const answer = await this.#call({ method: 'PUT', path, body: EMPTY }, statuses)
    await answer.drop()
  }

  async readLocal(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const answer = await this.#call({ method: 'GET', path: encodeLocalId(id) }, [404])
    if (answer.status === 404) {
      await answer.drop()
      this.#localRevs.delete(id)
      return undefined
    }
    const document = (await answer.json()) as Record<string, unknown>
    if (typeof document._rev === 'string') this.#localRevs.set(id, document._rev)
    return document
  }

  async writeLocal(id: string, document: Readonly<Record<string, unknown>>): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const rev = this.#localRevs.get(id)
      const text = { _id: id, ...(rev === undefined ? {} : { _rev: rev }), ...document }
      const call = jsonCall('PUT', encodeLocalId(id), JSON.stringify(text))
      const answer = await this.#call(call, [409])
      if (answer.status !== 409) {
        const written = (await answer.json()) as { rev?: unknown }
        if (typeof written.rev === 'string') this.#localRevs.set(id, written.rev)
        return
      }
      await answer.drop()
      if (attempt > 0) throw passing('the checkpoint was changed by somebody else')
      await this.readLocal(id)
    }
  }

  async changes(query: ChangesQuery, signal: AbortSignal): Promise<ChangesPage> {
    const call = changesCall(query)
    return await this.#retrying(signal, async () => {
      const answer = await this.#send({ ...call, signal, waitMs: this.#silenceMs(query.waitMs) })
      if (answer.status !== 200) throw await this.#refused(answer)
      return await readPage(answer)
    })
  }

  async pendingAfter(seq: PeerSequence): Promise<number | null> {
    const path = `_changes?limit=0&since=${encodeURIComponent(sequenceText(seq))}`
    const answer = await this.#call({ method: 'GET', path })
    const { pending, results } = (await answer.json()) as { pending?: unknown; results?: unknown }
    if (typeof pending !== 'number') return null
    // Some servers take 0 for 1.
    return pending + (Array.isArray(results) ? results.length : 0)
  }

  async filterCode(designName: string, filterName: string): Promise<string> {
    const id = `_design/${designName}`
    const path = encodeDocumentId(id)
    const answer = await this.#call({ method: 'GET', path }, [404])
    if (answer.status === 404) {
      await answer.drop()
      const reason = `Couldn't open document \`${id}\` from source database \`${this.shownUrl}\``
      throw new Failure('document_missing', { reason })
    }
    const design = (await answer.json()) as { filters?: Record<string, unknown> }
    const code = design.filters?.[filterName]
    if (typeof code === 'string') return code
    throw new Failure('function_missing', { reason: `missing json key: ${filterName}` })
  }

  async missing(
    revs: ReadonlyMap<string, readonly string[]>,
  ): Promise<ReadonlyMap<string, Missing>> {
    const call = jsonCall('POST', '_revs_diff', objectText(revs))
    const answer = await this.#call(call)
    const missing = new Map<string, Missing>()
    const differences = (await answer.json()) as Readonly<Record<string, Partial<RevsDiff>>>
    for (const [id, difference] of Object.entries(differences)) {
      if (!revs.has(id)) continue
      const { missing: list, possible_ancestors: ancestors } = difference
      missing.set(id, { revs: texts(list), ancestors: texts(ancestors) })
    }
    return missing
  }

  async *readDocuments(
    wanted: readonly Wanted[],
    count: ReadCounter,
  ): AsyncGenerator<readonly FetchedDocument[]> {
    let rest = wanted.flatMap(({ id, revs }) => revs.map(rev => ({ id, rev })))
    for (let attempt = 0; this.#knowsBulkGet && rest.length > 0; attempt++) {
      const reading = new BulkReading(rest)
      count.attempt()
      try {
        for await (const documents of this.#bulkGet(reading)) {
          count.documents(documents.length)
          yield documents
        }
        if (reading.rest.length > 0) throw passing('the other server did not answer everything')
      } catch (thrown) {
        // What came is not asked for again; whether to try the rest again is for the policy.
        if (attempt >= this.#options.retry.retries) throw thrown
        await withRetries({ ...this.#options.retry, retries: 1 }, this.#options.signal, number =>
          number === 0 ? Promise.reject(thrown) : Promise.resolve(),
        )
      }
      rest = reading.rest
    }
    yield* this.#readOneByOne(rest)
  }

  async *openRevisions(wanted: Wanted): AsyncGenerator<RevisionStream> {
    yield* readRevisions(wanted, call => this.#call(call))
  }

  async writeDocuments(documents: readonly FetchedDocument[]): Promise<WriteFailure[]> {
    if (documents.length === 0) return []
    const call = jsonCall('POST', '_bulk_docs', bulkBody(documents))
    const headers = { ...call.headers, 'X-Couch-Full-Commit': 'false' }
    const answer = await this.#call({ ...call, headers }, [400, 403, 413, 415, 417])
    if (answer.status === 201 || answer.status === 202 || answer.status === 417) {
      return await this.#failuresIn(answer, documents)
    }
    const failure = await readError(answer)
    const [only] = documents
    if (documents.length === 1) return [{ ...failure, id: only?.id ?? '' }]
    // One document spoils it for all: find out which.
    const half = documents.length >> 1
    return [
      ...(await this.writeDocuments(documents.slice(0, half))),
      ...(await this.writeDocuments(documents.slice(half))),
    ]
  }

  async writeRevision(revision: RevisionStream): Promise<WriteFailure | undefined> {
    const following = followingOf(revision.text)
    const path = `${encodeDocumentId(revision.id)}?new_edits=false`
    const body = following.length === 0 ? undefined : relatedBody(revision, following)
    const call =
      body === undefined
        ? jsonCall('PUT', path, revision.text)
        : {
            method: 'PUT',
            path,
            headers: { 'Content-Type': body.contentType, 'Content-Length': String(body.length) },
            body: body.chunks,
          }
    const answer = await this.#send({ ...call, signal: this.#options.signal })
    if (answer.status < 300) {
      await answer.drop()
      return undefined
    }
    if (isPassing(answer.status)) throw await this.#refused(answer)
    const failure = await readError(answer)
    if (answer.status === 412) throw new Failure('attachment_stub_missing', failure)
    return { ...failure, id: revision.id }
  }

  async ensureFullCommit(): Promise<string> {
    const answer = await this.#call(jsonCall('POST', '_ensure_full_commit', '{}'), [404, 405, 501])
    if (answer.status >= 400) {
      await answer.drop()
      return (await this.info()).instanceStartTime
    }
    const { instance_start_time: time } = (await answer.json()) as { instance_start_time?: unknown }
    return String(time ?? '0')
  }

  close(): void {
    this.#client.close()
  }

  async *#bulkGet(reading: BulkReading): AsyncGenerator<readonly FetchedDocument[]> {
    const call = jsonCall('POST', '_bulk_get?latest=true&revs=true&attachments=false', reading.body)
    const answer = await this.#send({ ...call, signal: this.#options.signal })
    if (UNKNOWN_ENDPOINT.has(answer.status)) {
      await answer.drop()
      this.#knowsBulkGet = false
      return
    }
    if (answer.status !== 200) throw await this.#refused(answer)
    const cutter = new ItemCutter(DOCUMENT_BYTES_MAX)
    for await (const chunk of answer.chunks()) {
      const documents: FetchedDocument[] = []
      for (const item of cutter.push(chunk)) {
        for (const document of reading.take(item)) documents.push(document)
      }
      if (documents.length > 0) yield documents
    }
    cutter.end()
  }

  async *#readOneByOne(rest: readonly IdAndRev[]): AsyncGenerator<readonly FetchedDocument[]> {
    for (let at = 0; at < rest.length; at += SINGLE_READS_AT_ONCE) {
      const step = rest.slice(at, at + SINGLE_READS_AT_ONCE)
      yield (await Promise.all(step.map(each => this.#readOne(each)))).flat()
    }
  }

  async #readOne({ id, rev }: IdAndRev): Promise<FetchedDocument[]> {
    const revs = encodeURIComponent(JSON.stringify([rev]))
    const path = `${encodeDocumentId(id)}?revs=true&latest=true&open_revs=${revs}`
    return await this.#retrying(this.#options.signal, async () => {
      const answer = await this.#send({ method: 'GET', path, signal: this.#options.signal })
      if (answer.status === 404) {
        await answer.drop()
        return []
      }
      if (answer.status !== 200) throw await this.#refused(answer)
      const bytes = await answer.bytes()
      return [...elementsOf(bytes, 0)].flatMap(element =>
        [...membersOf(bytes, element.start)]
          .filter(({ key }) => key === 'ok')
          .map(span => fetchedDocument(bytes, span, id)),
      )
    })
  }

  /** What could not be written; what may be written the next time is tried again. */
  async #failuresIn(
    answer: HttpAnswer,
    documents: readonly FetchedDocument[],
  ): Promise<WriteFailure[]> {
    const results = (await answer.json()) as unknown
    if (!Array.isArray(results)) throw passing('the other server sent no list of results')
    const failures: WriteFailure[] = []
    const again = new Set<string>()
    for (const result of results as { id?: unknown; error?: unknown; reason?: unknown }[]) {
      if (typeof result?.error !== 'string') continue
      const id = String(result.id)
      if (PASSING_ERRORS.has(result.error)) again.add(id)
      else failures.push({ id, error: result.error, reason: result.reason })
    }
    if (again.size === 0) return failures
    const rest = documents.filter(({ id }) => again.has(id))
    return [...failures, ...(await this.#writeAgain(rest))]
  }

  async #writeAgain(documents: readonly FetchedDocument[]): Promise<WriteFailure[]> {
    return await withRetries(this.#options.retry, this.#options.signal, async attempt => {
      if (attempt === 0) throw passing('the other server could not write some documents')
      const call = jsonCall('POST', '_bulk_docs', bulkBody(documents))
      const answer = await this.#send({ ...call, signal: this.#options.signal })
      if (answer.status >= 300) throw await this.#refused(answer)
      const results = ((await answer.json()) as Partial<WriteFailure>[]).filter(
        ({ error }) => error !== undefined,
      )
      if (results.some(({ error }) => PASSING_ERRORS.has(error as string))) {
        throw passing('the other server could not write some documents')
      }
      return results as WriteFailure[]
    })
  }

  /** An answer with a good status, or one that the caller knows what to do with. */
  #call(call: ClientCall, expected: readonly number[] = []): Promise<HttpAnswer> {
    const { signal } = this.#options
    return this.#retrying(call.signal ?? signal, async () => {
      const answer = await this.#send({ ...call, signal: call.signal ?? signal })
      if (answer.status < 300 || expected.includes(answer.status)) return answer
      throw await this.#refused(answer)
    })
  }

  #send(call: ClientCall): Promise<HttpAnswer> {
    return this.#client.send(call)
  }

  #retrying<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return withRetries(this.#options.retry, signal, work)
  }

  #silenceMs(waitMs: number): number {
    return waitMs + this.#options.timeoutMs
  }

  async #refused(answer: HttpAnswer): Promise<Failure> {
    const { status } = answer
    const { error, reason } = await readError(answer)
    if (status === 401 || status === 403) {
      const text = `unauthorized to access or create database ${this.shownUrl}`
      return new Failure('unauthorized', { reason: text, status })
    }
    if (isPassing(status))
      return passing(`${this.shownUrl} answers ${status}: ${error}`, { status })
    if (status === 404 && reason !== 'missing') return this.#notFound()
    const text = `${this.shownUrl} answers ${status}: ${error}, ${String(reason)}`
    return new Failure('replication_failed', { reason: text, status })
  }

  #notFound(): Failure {
    return new Failure('replication_failed', {
      error: 'db_not_found',
      reason: `could not open ${this.shownUrl}`,
    })
  }
}

interface RevsDiff {
  readonly missing: unknown
  readonly possible_ancestors: unknown
}

const EMPTY = Buffer.alloc(0)
const UNKNOWN_ENDPOINT = new Set([400, 404, 405, 501])
const PASSING_ERRORS = new Set([
  'timeout',
  'internal_server_error',
  'service_unavailable',
  'unknown_error',
])

const isPassing = (status: number): boolean => status >= 500 || status === 429 || status === 408

const encodeLocalId = (id: string): string =>
  `_local/${encodeURIComponent(id.slice('_local/'.length))}`

/** Written by hand: `__proto__` is an id like any other. */
function objectText(revs: ReadonlyMap<string, readonly string[]>): string {
  const members = [...revs].map(([id, list]) => `${JSON.stringify(id)}:${JSON.stringify(list)}`)
  return `{${members.join(',')}}`
}

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter(each => typeof each === 'string') : []

const BULK_HEAD = Buffer.from('{"new_edits":false,"docs":[')
const BULK_TAIL = Buffer.from(']}')
const SEPARATOR = Buffer.from(',')

function bulkBody(documents: readonly FetchedDocument[]): Buffer {
  const parts: Buffer[] = [BULK_HEAD]
  for (const [index, { text }] of documents.entries()) {
    if (index > 0) parts.push(SEPARATOR)
    parts.push(text)
  }
  parts.push(BULK_TAIL)
  return Buffer.concat(parts)
}

async function readError(answer: HttpAnswer): Promise<{ error: string; reason: unknown }> {
  try {
    const { error, reason } = (await answer.json()) as { error?: unknown; reason?: unknown }
    return { error: String(error), reason }
  } catch {
    return { error: `status ${answer.status}`, reason: 'no JSON' }
  }
}
