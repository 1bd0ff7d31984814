/**
 * A batch of changes from source to target: which revisions are missing, their documents, and writing them. Documents
 * with attachments and design documents go one by one, the others many at once. Done when everything is over there or
 * was refused for good.
 */
import { isFailure } from '../../base/errors.ts'
import type { ChangeRow, FetchedDocument, Peer, Wanted, WriteFailure } from './peer.ts'
import type { ReplicationProgress } from './replication-progress.ts'
import { passing, type RetryPolicy, withRetries } from './retry.ts'

export interface CopyParts {
  readonly source: Peer
  readonly target: Peer
  readonly progress: ReplicationProgress
  readonly retry: RetryPolicy
  readonly signal: AbortSignal
  readonly onWriteFailure: (failure: WriteFailure) => void
  readonly onProgress: () => void
}

/** Documents of one write are at most so many bytes, unless one is larger by itself. */
const WRITE_BYTES_MAX = 4 * 1024 * 1024
const WRITE_COUNT_MAX = 500
const STREAMS_AT_ONCE = 4

export async function copyBatch(rows: readonly ChangeRow[], parts: CopyParts): Promise<void> {
  const { target, progress } = parts
  const offered = new Map<string, readonly string[]>()
  for (const { id, revs } of rows) offered.set(id, [...(offered.get(id) ?? []), ...revs])
  const missing = await target.missing(offered)
  progress.add('missingChecked', countRevs(offered.values()))
  const wanted: Wanted[] = []
  for (const [id, { revs, ancestors }] of missing) {
    if (revs.length > 0) wanted.push({ id, revs, ancestors })
    progress.add('missingFound', revs.length)
  }
  if (wanted.length > 0) await new Copying(parts, wanted).run()
  parts.onProgress()
}

const countRevs = (lists: Iterable<readonly string[]>): number => {
  let count = 0
  for (const list of lists) count += list.length
  return count
}

class Copying {
  readonly #parts: CopyParts
  readonly #wanted: ReadonlyMap<string, Wanted>
  #documents: FetchedDocument[] = []
  #bytes = 0
  #writing: Promise<void> = Promise.resolve()
  readonly #streamed: { readonly id: string; readonly rev: string }[] = []

  constructor(parts: CopyParts, wanted: readonly Wanted[]) {
    this.#parts = parts
    this.#wanted = new Map(wanted.map(each => [each.id, each]))
  }

  async run(): Promise<void> {
    const { source, progress, signal } = this.#parts
    const counter = {
      attempt: () => progress.add('bulkGetAttempts', 1),
      documents: (count: number) => progress.add('bulkGetDocs', count),
    }
    try {
      for await (const documents of source.readDocuments([...this.#wanted.values()], counter)) {
        if (signal.aborted) throw passing('the replication was stopped')
        for (const document of documents) if (this.#take(document)) await this.#flush()
      }
      await this.#flush()
    } finally {
      await this.#writing.catch(() => {})
    }
    await this.#writing
    await this.#streamAll()
  }

  /** True when it is time to write. */
  #take(document: FetchedDocument): boolean {
    const { id, rev, hasAttachments, text } = document
    if (hasAttachments || id.startsWith('_design/')) {
      this.#streamed.push({ id, rev })
      return false
    }
    this.#parts.progress.add('docsRead', 1)
    this.#documents.push(document)
    this.#bytes += text.length
    return this.#bytes >= WRITE_BYTES_MAX || this.#documents.length >= WRITE_COUNT_MAX
  }

  /** Writes while the next documents are read; one write at a time. */
  async #flush(): Promise<void> {
    await this.#writing
    const documents = this.#documents
    this.#documents = []
    this.#bytes = 0
    if (documents.length === 0) return
    this.#writing = this.#write(documents)
    // Heard of by whoever waits for it.
    this.#writing.catch(() => {})
  }

  async #write(documents: readonly FetchedDocument[]): Promise<void> {
    const { target, progress } = this.#parts
    const failures = await target.writeDocuments(documents)
    progress.add('docsWritten', documents.length - failures.length)
    for (const failure of failures) this.#failed(failure)
    this.#parts.onProgress()
  }

  #failed(failure: WriteFailure): void {
    this.#parts.progress.add('docWriteFailures', 1)
    this.#parts.onWriteFailure(failure)
  }

  async #streamAll(): Promise<void> {
    const queue = [...this.#streamed]
    const worker = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const { id, rev } = next
        const ancestors = this.#wanted.get(id)?.ancestors ?? []
        await this.#stream({ id, revs: [rev], ancestors })
      }
    }
    const workers = Array.from({ length: STREAMS_AT_ONCE }, worker)
    for (const ended of await Promise.allSettled(workers)) {
      if (ended.status === 'rejected') throw ended.reason
    }
  }

  /** Both ends start again when one of them fails in the middle. */
  async #stream(wanted: Wanted): Promise<void> {
    const { retry, signal, source } = this.#parts
    let asked = wanted
    const done = new Set<string>()
    await withRetries(retry, signal, async () => {
      for await (const revision of source.openRevisions(asked)) {
        if (done.has(revision.rev)) continue
        try {
          const failure = await this.#parts.target.writeRevision(revision)
          done.add(revision.rev)
          this.#counted(failure)
        } catch (thrown) {
          if (!isFailure(thrown, 'attachment_stub_missing')) throw thrown
          if (asked.ancestors.length === 0) {
            done.add(revision.rev)
            this.#counted({ id: revision.id, error: 'missing_stub', reason: thrown.detail.reason })
            continue
          }
          // The target has less than we thought: everything must travel.
          asked = { ...asked, ancestors: [] }
          throw passing('the target lacks contents of attachments', {}, thrown)
        }
      }
    })
  }

  #counted(failure: WriteFailure | undefined): void {
    const { progress } = this.#parts
    progress.add('docsRead', 1)
    if (failure === undefined) progress.add('docsWritten', 1)
    else this.#failed(failure)
    this.#parts.onProgress()
  }
}
