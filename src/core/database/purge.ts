/**
 * Purging: leaves of documents are forgotten as if they had never been, with their bodies, their attachments and their
 * place in the sequence. What was asked for is noted under its own sequence, so that indexes can follow.
 *
 *   purge record (key 16): id as text, varint count, then each revision: varint pos, run id
 */
import { ByteReader, ByteWriter } from '../../base/bytes.ts'
import { Failure } from '../../base/errors.ts'
import type { Steps, Store, WriteTx } from '../../engine/engine.ts'
import { decodeAttachments } from '../document/attachment.ts'
import type { Revision } from '../document/revision.ts'
import { bodyKeysOf, type RevisionTree } from '../document/revision-tree.ts'
import { purgeLeaves } from '../document/trim-revisions.ts'
import { ContentChanges } from './attachment-contents.ts'
import { type DatabaseHead, decodeHead, encodeHead } from './database-head.ts'
import { isDesignId, putDesignStamp } from './design-stamp.ts'
import { DocumentState } from './document-state.ts'
import { IdCountChanges } from './id-counts.ts'
import {
  changeKey,
  documentKey,
  HEAD,
  idBytesOfKey,
  bodyKey as keyOfBody,
  PURGED_INFOS_LIMIT,
  PURGES,
  purgeKey,
  seqOfKey,
} from './keyspace.ts'
import { PartitionChanges } from './partition-counts.ts'
import { SequenceCountChanges } from './sequence-counts.ts'
import { decodeDocument } from './stored-document.ts'

export interface PurgeRequest {
  readonly id: string
  readonly revs: readonly Revision[]
}

export interface PurgeRecord extends PurgeRequest {
  readonly purgeSeq: number
}

export interface Purged {
  /** The revisions that really went, one list per request, in order. */
  readonly removed: Revision[][]
  readonly seq: number
}

/**
 * One transaction. Requests must name different documents.
 *
 * @param partitioned the database counts its partitions
 */
export const purgeDocuments = (
  requests: readonly PurgeRequest[],
  infosLimitDefault: number,
  partitioned = false,
) =>
  function* (tx: WriteTx): Steps<Purged> {
    const keys = requests.map(({ id }) => documentKey(id))
    const [headBytes, limitBytes, ...records] = yield* tx.getMany([
      HEAD,
      PURGED_INFOS_LIMIT,
      ...keys,
    ])
    if (headBytes === undefined) throw new Failure('database_missing')
    const purge = new Purge(tx, decodeHead(headBytes), partitioned)
    const removed: Revision[][] = []
    for (const [index, request] of requests.entries()) {
      const bytes = records[index]
      const stored = bytes === undefined ? undefined : decodeDocument(bytes, request.id)
      const state = new DocumentState(request.id, keys[index] as Buffer, stored)
      removed.push(yield* purge.document(state, request))
    }
    const limit = limitBytes === undefined ? infosLimitDefault : Number(limitBytes.toString())
    return { removed, seq: yield* purge.finish(limit) }
  }

class Purge {
  readonly #tx: WriteTx
  readonly #before: DatabaseHead
  readonly #contents = new ContentChanges()
  readonly #sequenceCounts = new SequenceCountChanges()
  readonly #idCounts = new IdCountChanges()
  readonly #partitions: PartitionChanges | undefined
  #seq: number
  #purgeSeq: number
  #liveCount: number
  #deletedCount: number
  #externalBytes: number
  #designsChange = false

  constructor(tx: WriteTx, head: DatabaseHead, partitioned: boolean) {
    this.#tx = tx
    this.#partitions = partitioned ? new PartitionChanges() : undefined
    this.#before = head
    this.#seq = head.updateSeq
    this.#purgeSeq = head.purgeSeq
    this.#liveCount = head.liveCount
    this.#deletedCount = head.deletedCount
    this.#externalBytes = head.externalBytes
  }

  *document(state: DocumentState, { id, revs }: PurgeRequest): Steps<Revision[]> {
    this.#tx.put(purgeKey(++this.#purgeSeq), encodePurge({ id, revs }))
    const { tree } = state
    if (tree === undefined) return []
    const { tree: rest, removed } = purgeLeaves(tree, revs)
    if (removed.length === 0) return []
    this.#designsChange ||= isDesignId(id)
    yield* this.#dropBodies(state, tree, rest)
    if (rest === undefined) this.#remove(state)
    else yield* this.#replace(state, rest)
    return removed
  }

  *finish(infosLimit: number): Steps<number> {
    if (this.#purgeSeq === this.#before.purgeSeq) return this.#seq
    const nextBodyKey = this.#before.nextBodyKey
    yield* this.#contents.apply(this.#tx, () => {
      throw new Failure('storage_corrupt', { reason: 'a purge brings no content' })
    })
    yield* this.#sequenceCounts.apply(this.#tx)
    // Counts only sink here, so no stretch is ever cut.
    yield* this.#idCounts.apply(this.#tx, function* () {
      return []
    })
    if (this.#partitions !== undefined) yield* this.#partitions.apply(this.#tx)
    // Every purge is an event of its own in the order of changes.
    if (this.#seq === this.#before.updateSeq) this.#seq++
    if (this.#designsChange) putDesignStamp(this.#tx, this.#seq)
    const oldest = Math.max(this.#before.oldestPurgeSeq, this.#purgeSeq - infosLimit + 1, 1)
    this.#tx.deleteRange({ start: PURGES.start, end: purgeKey(oldest) })
    this.#tx.put(
      HEAD,
      encodeHead({
        ...this.#before,
        nextBodyKey,
        updateSeq: this.#seq,
        purgeSeq: this.#purgeSeq,
        oldestPurgeSeq: oldest,
        liveCount: this.#liveCount,
        deletedCount: this.#deletedCount,
        externalBytes: Math.max(0, this.#externalBytes),
      }),
    )
    return this.#seq
  }

  *#dropBodies(
    state: DocumentState,
    before: RevisionTree,
    after: RevisionTree | undefined,
  ): Steps<void> {
    const kept = new Set(after === undefined ? [] : bodyKeysOf(after))
    for (const bodyKey of bodyKeysOf(before)) {
      if (kept.has(bodyKey)) continue
      const body = yield* state.bodyOf(this.#tx, bodyKey)
      for (const { contentId } of body ? decodeAttachments(body.attachments) : []) {
        this.#contents.refer(contentId, -1)
      }
      if (bodyKey !== state.before?.bodyKey) this.#tx.delete(keyOfBody(bodyKey))
      state.forgetBody(bodyKey)
    }
  }

  #remove(state: DocumentState): void {
    const { before } = state
    if (before === undefined) return
    this.#tx.delete(state.key)
    this.#tx.delete(changeKey(before.seq))
    this.#sequenceCounts.add(before.seq, -1)
    if (before.deleted) this.#deletedCount--
    else {
      this.#liveCount--
      this.#idCounts.add(idBytesOfKey(state.key), -1)
    }
    this.#externalBytes -= state.externalBytesBefore
    this.#partitions?.add(state, true)
  }

  *#replace(state: DocumentState, tree: RevisionTree): Steps<void> {
    yield* state.become(this.#tx, tree, ++this.#seq)
    state.put(this.#tx)
    const wasLive = state.before?.deleted === false
    if (state.before) this.#sequenceCounts.add(state.before.seq, -1)
    this.#sequenceCounts.add(state.seq, 1)
    if (wasLive !== state.isLive) {
      this.#idCounts.add(idBytesOfKey(state.key), state.isLive ? 1 : -1)
      this.#liveCount += state.isLive ? 1 : -1
      this.#deletedCount += state.isLive ? -1 : 1
    }
    this.#externalBytes += state.externalBytesGained
    this.#partitions?.add(state)
  }
}

/** The purges that are still on record, oldest first, in batches. */
export async function* scanPurges(store: Store): AsyncGenerator<PurgeRecord[], void, undefined> {
  for await (const rows of store.scan(PURGES)) {
    yield rows.map(({ key, value }) => ({ ...decodePurge(value), purgeSeq: seqOfKey(key) }))
  }
}

function encodePurge({ id, revs }: PurgeRequest): Buffer {
  const writer = new ByteWriter(64 + id.length * 3).text(id).varint(revs.length)
  for (const rev of revs) writer.varint(rev.pos).run(rev.id)
  return writer.finish()
}

export function decodePurge(bytes: Buffer): PurgeRequest {
  const reader = new ByteReader(bytes)
  const id = reader.text()
  const revs: Revision[] = []
  for (let left = reader.varint(); left > 0; left--) {
    revs.push({ pos: reader.varint(), id: reader.run() })
  }
  return { id, revs }
}
