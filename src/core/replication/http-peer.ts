/**
 * A database reached by HTTP, on a server that speaks CouchDB's protocol, ours included. What each call promises is
 * told in `peer.ts`; how connections behave in `http-client.ts`, how it logs in in `signed-client.ts`.
 *
 * A server that does not know `_bulk_get` is asked document by document from then on.
 */
import { Failure } from '../../base/errors.ts'
import { BulkReading, type IdAndRev } from './bulk-reading.ts'
import { elementsOf, ItemCutter, membersOf } from './cut-json.ts'
import type { RemoteEndpoint } from './endpoint.ts'
import { showEndpoint } from './endpoint.ts'
import { fetchedDocument } from './fetched-document.ts'
import { changesCall, readPage } from './http-changes.ts'
import { type ClientCall, type HttpAnswer, jsonCall } from './http-client.ts'
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
import { passing, type RetryPolicy, withRetries } from './retry.ts'
import { SignedClient, type SignedOptions } from './signed-client.ts'

export interface HttpPeerOptions extends SignedOptions {
  readonly retry: RetryPolicy
  readonly useBulkGet: boolean
}

const DOCUMENT_BYTES_MAX = 256 * 1024 * 1024
const SINGLE_READS_AT_ONCE = 8

export class HttpPeer implements Peer {
  readonly shownUrl: string
  readonly #client: SignedClient
  readonly #options: HttpPeerOptions
  /** Revisions of local documents as they were last seen. */
  readonly #localRevs = new Map<string, string>()
  #knowsBulkGet: boolean

  constructor(endpoint: RemoteEndpoint, options: HttpPeerOptions) {
    this.shownUrl = showEndpoint(endpoint)
    this.#client = new SignedClient(endpoint, options)
    this.#options = options
    this.#knowsBulkGet = options.useBulkGet
  }

  async info(): Promise<PeerInfo> {
    const { status, json } = await this.#ask({ method: 'GET', path: '' }, [404])
    if (status === 404) throw this.#notFound()
    const info = json as { update_seq?: unknown; instance_start_time?: unknown }
    return {
      updateSeq: info.update_seq,
      instanceStartTime: String(info.instance_start_time ?? '0'),
    }
  }

  async create(params: Readonly<Record<string, string>>): Promise<void> {
    const query = new URLSearchParams(params).toString()
    const path = query === '' ? '' : `?${query}`
    const statuses = [400, 404, 405, 409, 412]
    await this.#ask({ method: 'PUT', path, body: EMPTY }, statuses)
  }

  async readLocal(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const { status, json } = await this.#ask({ method: 'GET', path: encodeLocalId(id) }, [404])
    if (status === 404) {
      this.#localRevs.delete(id)
      return undefined
    }
    const document = json as Record<string, unknown>
    if (typeof document._rev === 'string') this.#localRevs.set(id, document._rev)
    return document
  }

  async writeLocal(id: string, document: Readonly<Record<string, unknown>>): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const rev = this.#localRevs.get(id)
      const text = { _id: id, ...(rev === undefined ? {} : { _rev: rev }), ...document }
      const call = jsonCall('PUT', encodeLocalId(id), JSON.stringify(text))
      const { status, json } = await this.#ask(call, [409])
      if (status !== 409) {
        const { rev: written } = json as { rev?: unknown }
        if (typeof written === 'string') this.#localRevs.set(id, written)
        return
      }
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

  async filterCode(designName: string, filterName: string): Promise<string> {
    const id = `_design/${designName}`
    const path = encodeDocumentId(id)
    const { status, json } = await this.#ask({ method: 'GET', path }, [404])
    if (status === 404) {
      const reason = `Couldn't open document \`${id}\` from source database \`${this.shownUrl}\``
      throw new Failure('document_missing', { reason })
    }
    const design = json as { filters?: Record<string, unknown> }
    const code = design.filters?.[filterName]
    if (typeof code === 'string') return code
    throw new Failure('function_missing', { reason: `missing json key: ${filterName}` })
  }

  async missing(
    revs: ReadonlyMap<string, readonly string[]>,
  ): Promise<ReadonlyMap<string, Missing>> {
    const call = jsonCall('POST', '_revs_diff', objectText(revs))
    const { json } = await this.#ask(call)
    const missing = new Map<string, Missing>()
    const differences = json as Readonly<Record<string, Partial<RevsDiff>>>
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
    const { status, json } = await this.#ask({ ...call, headers }, [400, 403, 413, 415, 417])
    if (status < 300 || status === 417) return await this.#failuresIn(json, documents)
    const [only] = documents
    if (documents.length === 1) return [{ ...errorIn(json, status), id: only?.id ?? '' }]
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
    const failure = errorIn(await this.#errorJson(answer), answer.status)
    if (answer.status === 412) throw new Failure('attachment_stub_missing', failure)
    return { ...failure, id: revision.id }
  }

  async ensureFullCommit(): Promise<string> {
    const call = jsonCall('POST', '_ensure_full_commit', '{}')
    const { status, json } = await this.#ask(call, [404, 405, 501])
    if (status >= 400) return (await this.info()).instanceStartTime
    const { instance_start_time: time } = json as { instance_start_time?: unknown }
    return String(time ?? '0')
  }

  close(): void {
    this.#client.close()
  }

  async *#bulkGet(reading: BulkReading): AsyncGenerator<readonly FetchedDocument[]> {
    const call = jsonCall('POST', '_bulk_get?latest=true&revs=true&attachments=false', reading.body)
    const answer = await this.#send({ ...call, signal: this.#options.signal })
    if (answer.status !== 200) {
      await this.#leaveBulkGet(answer)
      return
    }
    const cutter = new ItemCutter(DOCUMENT_BYTES_MAX)
    for await (const chunk of answer.chunks()) {
      const documents: FetchedDocument[] = []
      const failure = takeAll(reading, cutter.push(chunk), documents)
      if (documents.length > 0) yield documents
      if (failure !== undefined) throw failure.thrown
    }
    cutter.end()
  }

  /** Servers that do not know the endpoint take it for a document's, and say so in several ways. */
  async #leaveBulkGet(answer: HttpAnswer): Promise<void> {
    const error = errorIn(await this.#errorJson(answer), answer.status)
    const isUnknown =
      UNKNOWN_ENDPOINT.has(answer.status) || (answer.status === 404 && error.reason === 'missing')
    if (!isUnknown) throw this.#refusal(answer.status, error)
    this.#knowsBulkGet = false
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
      if (answer.status !== 200) {
        const error = errorIn(await this.#errorJson(answer), answer.status)
        if (answer.status === 404 && error.reason === 'missing') return []
        throw this.#refusal(answer.status, error)
      }
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
    results: unknown,
    documents: readonly FetchedDocument[],
  ): Promise<WriteFailure[]> {
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

  /** An answer's status and JSON; one that was cut off is asked for again. */
  #ask(
    call: ClientCall,
    expected: readonly number[] = [],
  ): Promise<{ readonly status: number; readonly json: unknown }> {
    const { signal } = this.#options
    return this.#retrying(signal, async () => {
      const answer = await this.#send({ ...call, signal })
      const { status } = answer
      if (status < 300) return { status, json: await answer.json() }
      const json = await this.#errorJson(answer)
      if (expected.includes(status)) return { status, json }
      throw this.#refusal(status, errorIn(json, status))
    })
  }

  /** An answer with a good status, its body still to come. */
  #call(call: ClientCall): Promise<HttpAnswer> {
    const { signal } = this.#options
    return this.#retrying(signal, async () => {
      const answer = await this.#send({ ...call, signal })
      if (answer.status < 300) return answer
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
    return this.#refusal(answer.status, errorIn(await this.#errorJson(answer), answer.status))
  }

  /** What an answer with a bad status says; such answers need not be JSON. */
  #errorJson(answer: HttpAnswer): Promise<unknown> {
    return answer.json().catch(() => undefined)
  }

  #refusal(status: number, { error, reason }: { error: string; reason: unknown }): Failure {
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
const UNKNOWN_ENDPOINT = new Set([400, 405, 501])
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

function errorIn(json: unknown, status: number): { error: string; reason: unknown } {
  const { error, reason } = (json ?? {}) as { error?: unknown; reason?: unknown }
  return { error: typeof error === 'string' ? error : `status ${status}`, reason }
}

/** Takes what can be taken; what came before a bad item is not lost with it. */
function takeAll(
  reading: BulkReading,
  items: readonly Buffer[],
  documents: FetchedDocument[],
): { readonly thrown: unknown } | undefined {
  try {
    for (const item of items) for (const document of reading.take(item)) documents.push(document)
    return undefined
  } catch (thrown) {
    return { thrown }
  }
}
