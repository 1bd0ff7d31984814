/**
 * Brings one index up to date with its database. A first build sorts everything and writes the trees in one go; later
 * updates change the blocks they meet. An index that has fallen far behind (a database that was filled after its design
 * document came) is built anew in the first way, which is many times quicker; it answers meanwhile with what it has.
 *
 * Documents are mapped by the index's kind, several batches at once, and go in in the order of their changes, so after a
 * crash the work goes on behind what was saved.
 *
 * What was purged leaves no change behind: such documents are found in the records of purges. When these do not reach
 * back far enough, the index is built anew. Two at work on one index do no harm: one of them fails.
 */
import { Failure } from '../../base/errors.ts'
import { countChanges, readChanges } from '../database/changes.ts'
import type { Database } from '../database/database.ts'
import { isDesignId } from '../database/design-stamp.ts'
import { documentKey, PURGES, purgeKey } from '../database/keyspace.ts'
import { decodePurge } from '../database/purge.ts'
import { decodeDocument, type StoredDocument } from '../database/stored-document.ts'
import type { BuildSlots } from './build-slots.ts'
import type { IndexCatalog } from './index-catalog.ts'
import type { IndexKind } from './index-kind.ts'
import { IndexProgressReport, type ProgressParts } from './index-progress.ts'
import type { DocumentRows, IndexProgress } from './index-rows.ts'
import { documentRows, type MappedRows, packRows } from './mapped-rows.ts'
import type { OpenIndex } from './open-indexes.ts'

/** Documents mapped in one call; their records' bytes are bounded by `readChanges`. */
const BATCH_COUNT = 1000
const PURGES_AT_ONCE = 1000

export interface UpdateParts {
  readonly database: Database
  readonly open: OpenIndex
  readonly catalog: IndexCatalog
  /** Batches that are mapped at the same time. */
  readonly batchesMax: number
  /** An index that lacks so many changes may be built anew. */
  readonly farBehindCount: number
  readonly progress: ProgressParts
  readonly builds: BuildSlots
  readonly signal: AbortSignal
}

/** Resolves to how far it came: at least up to the newest change there was when it began. */
export async function updateIndex(parts: UpdateParts): Promise<IndexProgress> {
  const { database, open, catalog } = parts
  await catalog.prepare(database, open.storeId)
  const head = await database.head()
  const state = await open.index.state()
  const known = [state?.progress, state?.build?.progress]
  if (known.some(progress => progress !== undefined && hasForgotten(progress, head))) {
    await catalog.remove(open.storeId)
    await catalog.prepare(database, open.storeId)
    return build(parts, head)
  }
  if (state?.phase !== 'ready' || state.build !== undefined) return build(parts, head)
  const { progress } = state
  // There are at most as many changes as sequences: counting is for those who may be far behind.
  if (head.updateSeq - progress.seq < parts.farBehindCount) return follow(parts, progress, head)
  const changes = await countChanges(database, progress.seq)
  return isFarBehind(changes, parts.farBehindCount)
    ? build(parts, head)
    : follow(parts, progress, head)
}

/**
 * Changing block after block costs more then than building all anew: in an update of a large index a document was
 * measured to take five to eight times the processor time of one in a first build.
 */
export const isFarBehind = (
  { after, all }: { readonly after: number; readonly all: number },
  farBehindCount: number,
): boolean => after >= farBehindCount && after * FAR_BEHIND_FACTOR >= all
const FAR_BEHIND_FACTOR = 3

interface Head {
  readonly updateSeq: number
  readonly purgeSeq: number
  readonly oldestPurgeSeq: number
}

/** Purges happened since of which there is no record any more. */
const hasForgotten = ({ seq, purgeSeq }: IndexProgress, head: Head): boolean =>
  seq > 0 && purgeSeq < head.purgeSeq && head.oldestPurgeSeq > purgeSeq + 1

async function build(parts: UpdateParts, head: Head): Promise<IndexProgress> {
  const progress = await parts.builds.run(() => buildFirst(parts, head))
  return follow(parts, progress, head)
}

async function buildFirst(parts: UpdateParts, head: Head): Promise<IndexProgress> {
  if (parts.signal.aborted) throw new Failure('engine_closed')
  const build = await parts.open.index.firstBuild(head.updateSeq)
  const saved = build.savedProgress
  const purgeSeq = saved.seq === 0 ? head.purgeSeq : saved.purgeSeq
  try {
    await report(parts, saved.seq, async add => {
      const span = { from: saved.seq, until: build.untilSeq, mayGoBeyond: false }
      for await (const step of mappedChanges(parts, span)) {
        await build.addMapped(step.mapped, step.rowless, { seq: step.seq, purgeSeq })
        add(step.changes)
      }
      await build.finish()
    })
  } finally {
    await build.close()
  }
  const state = await parts.open.index.state()
  return state?.progress ?? { seq: Math.max(saved.seq, build.untilSeq), purgeSeq }
}

async function follow(parts: UpdateParts, from: IndexProgress, head: Head): Promise<IndexProgress> {
  const { index } = parts.open
  const { seq, purgeSeq } = await followPurges(parts, from, head)
  if (seq >= head.updateSeq) return { seq, purgeSeq }
  let reached = seq
  await report(parts, seq, async add => {
    const span = { from: seq, until: head.updateSeq, mayGoBeyond: true }
    for await (const step of mappedChanges(parts, span)) {
      const rows = documentRows(step.mapped)
      for (const id of step.rowless) rows.push(rowless(id, parts.open.kind))
      await index.update(rows, { seq: step.seq, purgeSeq })
      reached = step.seq
      add(step.changes)
    }
  })
  return { seq: reached, purgeSeq }
}

async function report(
  { database, open, progress }: UpdateParts,
  seq: number,
  work: (add: (changes: number) => void) => Promise<void>,
): Promise<void> {
  const { after: total } = await countChanges(database, seq)
  const told = new IndexProgressReport(progress, {
    database: database.name,
    designId: open.designId,
    total,
  })
  try {
    await work(changes => told.add(changes))
  } finally {
    told.end()
  }
}

/** Takes out the rows of documents that were purged altogether; what is left of others shows as a change. */
async function followPurges(
  { database, open }: UpdateParts,
  from: IndexProgress,
  head: Head,
): Promise<IndexProgress> {
  let progress = from
  while (progress.purgeSeq < head.purgeSeq) {
    const start = progress.purgeSeq + 1
    const end = Math.min(head.purgeSeq, progress.purgeSeq + PURGES_AT_ONCE)
    const gone = await database.read(function* (tx) {
      const range = {
        start: purgeKey(start),
        end: end < head.purgeSeq ? purgeKey(end + 1) : PURGES.end,
      }
      const records = yield* tx.scan(range, { limit: PURGES_AT_ONCE })
      const ids = [...new Set(records.map(({ value }) => decodePurge(value).id))]
      const documents = yield* tx.getMany(ids.map(documentKey))
      return ids.filter((_, at) => documents[at] === undefined)
    })
    progress = { seq: progress.seq, purgeSeq: end }
    await open.index.update(
      gone.map(id => rowless(id, open.kind)),
      progress,
    )
  }
  return progress
}

const rowless = (id: string, { trees }: IndexKind): DocumentRows => ({
  id,
  rows: trees.map(() => NONE),
})
const NONE: DocumentRows['rows'][number] = []

interface MappedStep {
  readonly mapped: MappedRows
  /** Documents that have no rows, or none any more. */
  readonly rowless: readonly string[]
  /** How far the index has come with these. */
  readonly seq: number
  readonly changes: number
}

/** The changes after `from`, in order; ends when `until` is reached. */
interface Span {
  readonly from: number
  readonly until: number
  /** A batch may hold later changes too. Among those may be documents that came before. */
  readonly mayGoBeyond: boolean
}

async function* mappedChanges(
  parts: UpdateParts,
  span: Span,
): AsyncGenerator<MappedStep, void, undefined> {
  const { from, until } = span
  const queue: Promise<MappedStep>[] = []
  let seq = from
  while (queue.length > 0 || seq < until) {
    if (parts.signal.aborted) throw new Failure('engine_closed')
    while (seq < until && queue.length < parts.batchesMax) {
      const read = await readBatch(parts, seq, span)
      seq = read.seq
      const step = mapBatch(parts.open.kind, read)
      // Whoever waits for it hears of a failure; until then it is nobody's.
      step.catch(() => {})
      queue.push(step)
    }
    yield (await queue.shift()) as MappedStep
  }
}

interface ReadBatch {
  readonly live: readonly StoredDocument[]
  /** Deleted, or none of those that have rows. */
  readonly others: readonly string[]
  readonly seq: number
}

async function readBatch(
  { database, open }: UpdateParts,
  from: number,
  { until, mayGoBeyond }: Span,
): Promise<ReadBatch> {
  const request = { from, descending: false, limit: BATCH_COUNT, withRecords: true }
  const batch = await readChanges(database, request)
  const isBeyond = (batch.changes.at(-1)?.seq ?? 0) > until
  const isCut = isBeyond && !mayGoBeyond
  const changes = isCut ? batch.changes.filter(({ seq }) => seq <= until) : batch.changes
  const isLast = batch.isLast || isCut
  const live: StoredDocument[] = []
  const others: string[] = []
  for (const { idBytes, deleted, record } of changes) {
    const id = idBytes.toString()
    const hasRows =
      !deleted && record !== undefined && (open.kind.includesDesigns || !isDesignId(id))
    if (hasRows) live.push(decodeDocument(record, id))
    else others.push(id)
  }
  const lastSeq = changes.at(-1)?.seq ?? from
  return { live, others, seq: isLast ? Math.max(until, lastSeq) : lastSeq }
}

async function mapBatch(kind: IndexKind, { live, others, seq }: ReadBatch): Promise<MappedStep> {
  const mapped = live.length === 0 ? packRows([], kind.trees.length) : await kind.rowsOf(live)
  return { mapped, rowless: others, seq, changes: live.length + others.length }
}
