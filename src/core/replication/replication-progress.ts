/** What a replication counts while it runs, and how far it is; told in checkpoints, tasks and states of documents. */
import type { PeerSequence } from './peer-sequence.ts'

export interface ReplicationCounts {
  readonly missingChecked: number
  readonly missingFound: number
  readonly docsRead: number
  readonly docsWritten: number
  readonly docWriteFailures: number
  readonly bulkGetDocs: number
  readonly bulkGetAttempts: number
}

type Counter = keyof ReplicationCounts

export class ReplicationProgress {
  readonly #counts: Record<Counter, number> = {
    missingChecked: 0,
    missingFound: 0,
    docsRead: 0,
    docsWritten: 0,
    docWriteFailures: 0,
    bulkGetDocs: 0,
    bulkGetAttempts: 0,
  }
  /** Read from the source. */
  sourceSeq: PeerSequence = 0
  /** Everything up to here is on the target. */
  throughSeq: PeerSequence = 0
  checkpointedSeq: PeerSequence = 0
  /** Changes of the source beyond what was read; null while nobody knows. */
  pending: number | null = null

  add(counter: Counter, amount: number): void {
    this.#counts[counter] += amount
  }

  get counts(): ReplicationCounts {
    return { ...this.#counts }
  }
}

/** As `_scheduler` and `_replicator` documents show it. */
export function presentStats(
  progress: ReplicationProgress,
  seq: (value: PeerSequence) => unknown,
): Record<string, unknown> {
  const { counts } = progress
  return {
    revisions_checked: counts.missingChecked,
    missing_revisions_found: counts.missingFound,
    docs_read: counts.docsRead,
    docs_written: counts.docsWritten,
    changes_pending: progress.pending,
    doc_write_failures: counts.docWriteFailures,
    bulk_get_docs: counts.bulkGetDocs,
    bulk_get_attempts: counts.bulkGetAttempts,
    checkpointed_source_seq: seq(progress.checkpointedSeq),
  }
}

/** As `_active_tasks` shows it. */
export const presentTask = (
  progress: ReplicationProgress,
  seq: (value: PeerSequence) => unknown,
): Record<string, unknown> => ({
  ...presentStats(progress, seq),
  source_seq: seq(progress.sourceSeq),
  through_seq: seq(progress.throughSeq),
})
