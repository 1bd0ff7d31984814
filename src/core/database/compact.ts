/**
 * Compaction: forgets the bodies of revisions that were superseded, with their attachments, clears uploads that nobody
 * claimed, then lets the engine give back the space. Reads and writes go on meanwhile: all of it is done in small
 * transactions that look again before they take anything away.
 *
 * Bodies of superseded revisions lie under keys of their own, so only documents that have any are visited.
 */
import { Failure } from '../../base/errors.ts'
import type { Entry, Range, Steps, Store, WriteTx } from '../../engine/engine.ts'
import { decodeAttachments } from '../document/attachment.ts'
import { allNodes } from '../document/revision-tree.ts'
import { decodeTree, encodeTree } from '../document/revision-tree-codec.ts'
import { mapPayloads } from '../document/trim-revisions.ts'
import { ContentChanges, sweepUploads } from './attachment-contents.ts'
import { decodeHead } from './database-head.ts'
import {
  BODIES,
  documentKey,
  HEAD,
  ID_BYTES_MAX,
  bodyKey as keyOfBody,
  seqOfKey,
} from './keyspace.ts'
import { decodeBody, decodeDocument, encodeDocument } from './stored-document.ts'

export type CompactionPhase = 'document_bodies' | 'uploads' | 'file'

export interface CompactionOptions {
  readonly clock: () => number
  /** Ends the work at its next step. */
  readonly signal: AbortSignal
  readonly progress: (phase: CompactionPhase, done: number, total: number) => void
}

const DAY_MS = 24 * 60 * 60 * 1000
const BATCH = { limit: 64, bytesMax: 1024 * 1024 }

/** Fails with `engine_closed` when it was told to end. */
export async function compactStore(store: Store, options: CompactionOptions): Promise<void> {
  await dropOldBodies(store, options)
  // An upload that began so long ago and was never claimed belongs to a process that died.
  await sweepUploads(store, options.clock() - DAY_MS)
  options.progress('uploads', 1, 1)
  await untilAborted(
    store.compact((done, total) => options.progress('file', done, total)),
    options.signal,
  )
}

async function dropOldBodies(store: Store, { signal, progress }: CompactionOptions): Promise<void> {
  const head = await store.get(HEAD)
  if (head === undefined) throw new Failure('database_missing')
  const total = decodeHead(head).nextBodyKey
  let rest: Range = BODIES
  for (;;) {
    goOn(signal)
    const range = rest
    const rows = await store.read(tx => tx.scan(range, BATCH))
    const last = rows.at(-1)
    if (last === undefined) break
    await store.write(tx => dropSuperseded(tx, rows))
    rest = { start: Buffer.concat([last.key, Buffer.of(0)]), end: BODIES.end }
    progress('document_bodies', seqOfKey(last.key), total)
  }
  progress('document_bodies', total, total)
}

/** The documents of these bodies keep the bodies of their leaves and no other. */
function* dropSuperseded(tx: WriteTx, rows: readonly Entry[]): Steps<void> {
  const candidates = new Set(rows.map(row => seqOfKey(row.key)))
  const ids = [...new Set(rows.map(row => decodeBody(row.value).id))]
  const records = yield* tx.getMany(ids.map(documentKey))
  const kept = new Set<number>()
  for (const [index, id] of ids.entries()) {
    const bytes = records[index]
    if (bytes !== undefined) keepLeavesOnly(tx, { id, bytes, candidates, kept })
  }
  const gone = [...candidates].filter(bodyKey => !kept.has(bodyKey))
  const contents = new ContentChanges()
  const bodies = yield* tx.getMany(gone.map(keyOfBody))
  for (const [index, bodyKey] of gone.entries()) {
    const bytes = bodies[index]
    if (bytes === undefined) continue
    tx.delete(keyOfBody(bodyKey))
    for (const { contentId } of decodeAttachments(decodeBody(bytes).attachments)) {
      contents.refer(contentId, -1)
    }
  }
  yield* contents.apply(tx, () => {
    throw new Failure('storage_corrupt', { reason: 'a compaction brings no content' })
  })
}

interface Visited {
  readonly id: string
  readonly bytes: Buffer
  /** Bodies to drop, unless they are kept. */
  readonly candidates: Set<number>
  readonly kept: Set<number>
}

function keepLeavesOnly(tx: WriteTx, { id, bytes, candidates, kept }: Visited): void {
  const document = decodeDocument(bytes, id)
  const tree = decodeTree(document.tree)
  let changes = false
  for (const { isLeaf, bodyKey } of allNodes(tree)) {
    if (isLeaf) kept.add(bodyKey)
    else if (bodyKey !== 0) {
      candidates.add(bodyKey)
      changes = true
    }
  }
  if (!changes) return
  const trimmed = mapPayloads(tree, ({ deleted, bodyKey, isLeaf }) =>
    isLeaf ? { deleted, bodyKey } : { deleted, bodyKey: 0 },
  )
  const key = documentKey(id)
  const isIdInKey = key.length <= 1 + ID_BYTES_MAX
  tx.put(key, encodeDocument({ ...document, tree: encodeTree(trimmed) }, isIdInKey))
}

function goOn(signal: AbortSignal): void {
  if (signal.aborted) throw new Failure('engine_closed')
}

/** The engine ends its own work when it closes; whoever waits for us must not wait for that. */
function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  goOn(signal)
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new Failure('engine_closed'))
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
