/**
 * PORT: a database at one end of a replication, here or anywhere.
 *
 * Promises every implementation keeps: revisions are texts as the wire has them; documents are JSON bytes that nobody
 * on the way parses; a call that fails for a reason that may pass (a lost connection, a busy server, an answer that
 * was cut off) has been tried again already, within its bound, and then fails with `replication_failed`. Someone who
 * may not do it gets `unauthorized`, a database that is not there `replication_failed` with the error `db_not_found`.
 */
import type { PeerSequence } from './peer-sequence.ts'

export interface Peer {
  /** For people and logs: without password, with a slash at the end. */
  readonly shownUrl: string

  info(): Promise<PeerInfo>
  /** Harmless when it exists. */
  create(params: Readonly<Record<string, string>>): Promise<void>
  /** @param id with its `_local/` in front */
  readLocal(id: string): Promise<Readonly<Record<string, unknown>> | undefined>
  writeLocal(id: string, document: Readonly<Record<string, unknown>>): Promise<void>
  /** What happened after a sequence, at once; with `waitMs` it waits so long for the first change. */
  changes(query: ChangesQuery, signal: AbortSignal): Promise<ChangesPage>
  /** The source of a filter function. Fails with `document_missing` or `function_missing`. */
  filterCode(designName: string, filterName: string): Promise<string>

  /** Which of these revisions the peer lacks. */
  missing(revs: ReadonlyMap<string, readonly string[]>): Promise<ReadonlyMap<string, Missing>>
  /** Documents without the contents of attachments, as they arrive; what is not there is left out. */
  readDocuments(
    wanted: readonly Wanted[],
    count: ReadCounter,
  ): AsyncIterable<readonly FetchedDocument[]>
  /** Revisions with the contents of their attachments; each must be used up before the next is asked for. */
  openRevisions(wanted: Wanted): AsyncIterable<RevisionStream>

  writeDocuments(documents: readonly FetchedDocument[]): Promise<WriteFailure[]>
  /** Fails with `attachment_stub_missing` when a stub stands for something the peer does not have. */
  writeRevision(revision: RevisionStream): Promise<WriteFailure | undefined>
  /** Everything written so far is on disk after this. Answers which life of the database this is. */
  ensureFullCommit(): Promise<string>
  close(): void
}

export interface PeerInfo {
  readonly updateSeq: PeerSequence
  readonly instanceStartTime: string
}

export interface ChangesQuery {
  readonly since: PeerSequence
  readonly limit: number
  readonly waitMs: number
  readonly allLeaves: boolean
  readonly narrow: Narrowing
}

/** Which documents are to be replicated. */
export type Narrowing =
  | { readonly kind: 'all' }
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  /** JSON text of an object. */
  | { readonly kind: 'selector'; readonly selector: string }
  | {
      readonly kind: 'filter'
      readonly name: string
      readonly params: Readonly<Record<string, unknown>>
    }

export interface ChangeRow {
  readonly id: string
  readonly revs: readonly string[]
  readonly seq: PeerSequence
}

export interface ChangesPage {
  readonly rows: readonly ChangeRow[]
  readonly lastSeq: PeerSequence
  readonly pending: number | null
}

export interface Missing {
  readonly revs: readonly string[]
  readonly ancestors: readonly string[]
}

export interface Wanted {
  readonly id: string
  readonly revs: readonly string[]
  /** What the other end has: contents of attachments it must have with them need not travel. */
  readonly ancestors: readonly string[]
}

export interface FetchedDocument {
  readonly id: string
  readonly rev: string
  readonly text: Buffer
  /** It names attachments, whose contents are elsewhere. */
  readonly hasAttachments: boolean
}

export interface RevisionStream {
  readonly id: string
  readonly rev: string
  /** The attachments that follow say so in it, and how long they are. */
  readonly text: Buffer
  /** In the order of the text. */
  readonly parts: AsyncIterable<AsyncIterable<Buffer>>
}

export interface WriteFailure {
  readonly id: string
  readonly error: string
  readonly reason: unknown
}

/** Counts requests for many documents at once, and the documents they brought. */
export interface ReadCounter {
  attempt(): void
  documents(count: number): void
}
