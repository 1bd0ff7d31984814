/**
 * What a replication remembers on both ends: how far it came, in which session. Pure: documents in, documents out.
 *
 * Both ends hold the same document under the same name. If the newest session is the same on both, it is known how
 * far they agree; else the newest session that both know says it; else everything is looked at again, which costs
 * time but never loses a change.
 */
import { type PeerSequence, sequenceNumber } from './peer-sequence.ts'
import type { ReplicationCounts } from './replication-progress.ts'

export const REPLICATION_ID_VERSION = 4
const HISTORY_MAX = 50

export interface HistoryEntry {
  readonly session_id: string
  readonly start_time: string
  readonly end_time: string
  readonly start_last_seq: PeerSequence
  readonly end_last_seq: PeerSequence
  readonly recorded_seq: PeerSequence
  readonly missing_checked: number
  readonly missing_found: number
  readonly docs_read: number
  readonly docs_written: number
  readonly doc_write_failures: number
  readonly bulk_get_docs: number
  readonly bulk_get_attempts: number
}

export interface Checkpoint {
  readonly session_id: string
  readonly source_last_seq: PeerSequence
  readonly replication_id_version: number
  readonly history: readonly HistoryEntry[]
  readonly [more: string]: unknown
}

export interface Session {
  readonly id: string
  readonly startedMs: number
  readonly startSeq: PeerSequence
}

/** How far both ends agree, and the history they share from there on; 0 when they share none. */
export function commonAncestor(
  source: unknown,
  target: unknown,
): { seq: PeerSequence; history: readonly HistoryEntry[] } {
  const ours = readCheckpoint(source)
  const theirs = readCheckpoint(target)
  if (ours === undefined || theirs === undefined) return { seq: 0, history: [] }
  if (ours.session_id === theirs.session_id) {
    return { seq: ours.source_last_seq, history: ours.history }
  }
  const known = new Set(theirs.history.map(entry => entry.session_id))
  const index = ours.history.findIndex(entry => known.has(entry.session_id))
  const entry = ours.history[index]
  if (entry === undefined) return { seq: 0, history: [] }
  return { seq: entry.recorded_seq, history: ours.history.slice(index) }
}

/** A document as a checkpoint, if it is one: another program may have written anything there. */
export function readCheckpoint(document: unknown): Checkpoint | undefined {
  if (typeof document !== 'object' || document === null) return undefined
  const { session_id, source_last_seq, history } = document as Partial<Checkpoint>
  if (typeof session_id !== 'string' || source_last_seq === undefined) return undefined
  const entries = Array.isArray(history) ? history.filter(isEntry) : []
  return {
    ...document,
    session_id,
    source_last_seq,
    replication_id_version: REPLICATION_ID_VERSION,
    history: entries,
  }
}

const isEntry = (entry: unknown): entry is HistoryEntry =>
  typeof entry === 'object' &&
  entry !== null &&
  typeof (entry as HistoryEntry).session_id === 'string' &&
  (entry as HistoryEntry).recorded_seq !== undefined

export interface CheckpointFacts {
  readonly session: Session
  readonly nowMs: number
  readonly seq: PeerSequence
  readonly counts: ReplicationCounts
  /** Of earlier sessions, newest first. */
  readonly history: readonly HistoryEntry[]
  /** The counters stand at the top too: that is how replications of named documents always answered. */
  readonly countsOnTop: boolean
}

export function makeCheckpoint(facts: CheckpointFacts): Checkpoint {
  const { session, seq, history } = facts
  const entry = historyEntry(facts)
  const earlier = history.filter(({ session_id }) => session_id !== session.id)
  return {
    ...(facts.countsOnTop ? topCounts(entry) : {}),
    session_id: session.id,
    source_last_seq: seq,
    replication_id_version: REPLICATION_ID_VERSION,
    history: [entry, ...earlier].slice(0, HISTORY_MAX),
  }
}

function historyEntry({ session, nowMs, seq, counts }: CheckpointFacts): HistoryEntry {
  return {
    session_id: session.id,
    start_time: new Date(session.startedMs).toUTCString(),
    end_time: new Date(nowMs).toUTCString(),
    start_last_seq: session.startSeq,
    end_last_seq: seq,
    recorded_seq: seq,
    missing_checked: counts.missingChecked,
    missing_found: counts.missingFound,
    docs_read: counts.docsRead,
    docs_written: counts.docsWritten,
    doc_write_failures: counts.docWriteFailures,
    bulk_get_docs: counts.bulkGetDocs,
    bulk_get_attempts: counts.bulkGetAttempts,
  }
}

function topCounts(entry: HistoryEntry): Record<string, unknown> {
  const { start_time, end_time, docs_read, docs_written, doc_write_failures } = entry
  return { start_time, end_time, docs_read, docs_written, doc_write_failures }
}

/** The same with numbers for sequences, as the specification shows them. */
export function withNumericSequences(checkpoint: Checkpoint): Checkpoint {
  return {
    ...checkpoint,
    source_last_seq: sequenceNumber(checkpoint.source_last_seq),
    history: checkpoint.history.map(entry => ({
      ...entry,
      start_last_seq: sequenceNumber(entry.start_last_seq),
      end_last_seq: sequenceNumber(entry.end_last_seq),
      recorded_seq: sequenceNumber(entry.recorded_seq),
    })),
  }
}
