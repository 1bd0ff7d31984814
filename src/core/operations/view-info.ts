/** What there is to know about the index of a design document, and its upkeep: compaction and the removal of others. */
import type { Database } from '../database/database.ts'
import type { CachedDesign } from '../design/design-cache.ts'
import { progressOf } from '../indexing/index-state.ts'
import type { ActiveTasks, Task } from '../tasks/active-tasks.ts'
import { stateOf } from './query-view.ts'
import type { ViewServices } from './view-services.ts'

export interface ViewInfo {
  readonly signature: string
  readonly language: string
  readonly updateSeq: number
  readonly purgeSeq: number
  /** Changes of the database that the index has not followed yet. */
  readonly pendingCount: number
  readonly fileBytes: number
  readonly liveBytes: number
  /** Requests of this process that wait for the index. */
  readonly waitingCount: number
  readonly updaterRunning: boolean
  readonly compactRunning: boolean
  readonly collatorVersion: string
}

export async function readViewInfo(
  database: Database,
  services: ViewServices,
  design: CachedDesign,
  tasks: readonly Task[],
): Promise<ViewInfo> {
  const open = services.indexes.of(database, design)
  const state = await stateOf(open)
  const [head, size] = await Promise.all([database.head(), services.catalog.size(open.storeId)])
  const { seq, purgeSeq } = state === undefined ? { seq: 0, purgeSeq: 0 } : progressOf(state)
  const isAtWork = (type: string): boolean =>
    tasks.some(
      task =>
        task.type === type && task.database === database.name && task.design_document === design.id,
    )
  return {
    signature: open.signature,
    language: design.document.language,
    updateSeq: seq,
    purgeSeq,
    pendingCount: Math.max(0, head.updateSeq - seq),
    fileBytes: size.fileBytes,
    liveBytes: size.liveBytes,
    waitingCount: services.waiting.get(open.storeId) ?? 0,
    updaterRunning: isAtWork('indexer'),
    compactRunning: isAtWork('view_compaction'),
    collatorVersion: services.collatorVersion().replace(/^.*[:/]/, ''),
  }
}

/** Removes what no design document of the database defines any more. */
export async function cleanUpIndexes(database: Database, services: ViewServices): Promise<void> {
  const { byId } = await services.designs.of(database)
  const used = new Set<string>()
  for (const { document } of byId.values()) {
    const signature = services.indexes.signatureOf(document)
    if (signature !== undefined) used.add(signature)
  }
  await services.catalog.removeOthers(database.store.id, used)
}

/** Resolves when it is done, or at once when somebody else is at it. */
export async function compactIndex(
  database: Database,
  services: ViewServices,
  design: CachedDesign,
  tasks: ActiveTasks,
): Promise<void> {
  if (services.indexes.signatureOf(design.document) === undefined) return
  const { storeId } = services.indexes.of(database, design)
  const task = tasks.start('view_compaction', {
    database: database.name,
    design_document: design.id,
    phase: 'view',
    progress: 0,
    changes_done: 0,
    total_changes: 0,
  })
  try {
    await services.catalog.compact(storeId, (done, total) => {
      const progress = total === 0 ? 100 : Math.floor((100 * done) / total)
      task.update({ progress, changes_done: done, total_changes: total })
    })
  } finally {
    task.end()
  }
}
