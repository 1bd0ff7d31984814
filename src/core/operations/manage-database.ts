/** Compaction on behalf of a user, in the background, shown among the active tasks. */
import { isFailure } from '../../base/errors.ts'
import { compactStore } from '../database/compact.ts'
import type { Database } from '../database/database.ts'
import type { ActiveTasks } from '../tasks/active-tasks.ts'

export interface CompactionParts {
  readonly tasks: ActiveTasks
  readonly clock: () => number
}

/** Resolves when it is done, or at once when somebody else is at it; ends early when told to. */
export async function compactDatabase(
  database: Database,
  { tasks, clock }: CompactionParts,
  signal: AbortSignal,
): Promise<void> {
  const { liveCount, deletedCount } = await database.head()
  const total = liveCount + deletedCount
  try {
    await database.compaction.take(signal, async signal => {
      const task = tasks.start('database_compaction', {
        database: database.name,
        phase: 'document_bodies',
        progress: 0,
        changes_done: 0,
        total_changes: total,
      })
      const progress = (phase: string, done: number, all: number): void => {
        const part = all === 0 ? 1 : Math.min(1, done / all)
        task.update({
          phase,
          progress: Math.floor(100 * part),
          changes_done: Math.floor(total * part),
        })
      }
      try {
        await compactStore(database.store, { clock, signal, progress })
      } finally {
        task.end()
      }
    })
  } catch (thrown) {
    // Another process has the engine's own claim, the server stops, or the database is gone: nothing is lost.
    const isHarmless =
      isFailure(thrown, 'engine_busy') ||
      isFailure(thrown, 'engine_closed') ||
      isFailure(thrown, 'store_missing')
    if (!isHarmless) throw thrown
  }
}
