/**
 * Builds the indexes of staged design documents ahead, by asking one view of each, and tells how far they have come. The
 * processes that build indexes work below everybody else, so the server goes on answering meanwhile.
 */
import type { Task } from '../../core/tasks/active-tasks.ts'
import { type Document, isObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { findStaged } from './staged-documents.ts'
import type { UpgradeContext } from './upgrade-context.ts'
import type { IndexerProgress } from './upgrade-document.ts'

/** Indexes built at once. */
const BUILDS_MAX = 2
const PROGRESS_MS = 2000

interface StagedIndex {
  readonly database: DocumentDatabase
  readonly id: string
  readonly view: string
}

export async function warmIndexes(context: UpgradeContext): Promise<void> {
  const all = await stagedIndexes(context.databases)
  const built = new Set<StagedIndex>()
  const left = [...all]
  const over = new AbortController()
  const signal = AbortSignal.any([context.signal, over.signal])
  const builders = Array.from({ length: BUILDS_MAX }, async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      await build(next, signal)
      built.add(next)
    }
  })
  const watching = watch(context, { all, built }, signal)
  try {
    // A watcher ends early when the upgrade is given up: then the builders have nothing to do any more.
    await Promise.race([Promise.all(builders), watching])
  } finally {
    over.abort()
    await Promise.allSettled([...builders, watching])
  }
  await context.noteProgress(progressOf({ all, built }, []))
}

async function stagedIndexes(databases: readonly DocumentDatabase[]): Promise<StagedIndex[]> {
  const lists = databases.map(async database =>
    (await findStaged(database)).flatMap(design => indexOf(database, design)),
  )
  return (await Promise.all(lists)).flat()
}

/** Libraries are among the views; they have no index of their own. */
function indexOf(database: DocumentDatabase, { _id: id, views }: Document): StagedIndex[] {
  const found = isObject(views)
    ? Object.entries(views).find(([name, view]) => name !== 'lib' && isObject(view))
    : undefined
  return found === undefined ? [] : [{ database, id, view: found[0] }]
}

async function build({ database, id, view }: StagedIndex, signal: AbortSignal): Promise<void> {
  const name = id.slice('_design/'.length)
  const query = { limit: 1, reduce: false }
  for await (const rows of database.rows(name, view, query, signal)) if (rows.length > 0) break
  signal.throwIfAborted()
}

interface Progress {
  readonly all: readonly StagedIndex[]
  readonly built: ReadonlySet<StagedIndex>
}

/** Never ends by itself. */
async function watch(
  context: UpgradeContext,
  progress: Progress,
  signal: AbortSignal,
): Promise<never> {
  for (;;) {
    await wait(PROGRESS_MS, signal)
    await context.noteProgress(progressOf(progress, await context.server.tasks()))
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}

const progressOf = ({ all, built }: Progress, tasks: readonly Task[]): IndexerProgress[] =>
  all.map(index => progressIn(index.database.name, index.id, tasks, built.has(index)))

/** For those who ask while it goes on: what the processes say. */
export const indexersAt = (tasks: readonly Task[], prefix: string): IndexerProgress[] =>
  tasks
    .filter(({ type, design_document: id }) => type === 'indexer' && String(id).startsWith(prefix))
    .map(task => progressIn(String(task.database), String(task.design_document), [task], false))

function progressIn(
  database: string,
  id: string,
  tasks: readonly Task[],
  isBuilt: boolean,
): IndexerProgress {
  const own = tasks.filter(
    task => task.type === 'indexer' && task.database === database && task.design_document === id,
  )
  const shares = own.map(task => [task.pid, Number(task.progress)] as const)
  const least = shares.length === 0 ? 0 : Math.min(...shares.map(([, share]) => share))
  return {
    database,
    ddoc: id,
    design_document: id,
    type: 'view_indexing',
    tasks: Object.fromEntries(shares),
    progress: isBuilt ? 100 : least,
  }
}
