/**
 * Writes documents: one engine transaction for many edits of many writers. Reads the records it needs, lets the pure
 * rules of `core/document` decide, and puts records, sequence entries, bodies, attachments and counters together, so
 * that every reader sees all of an edit or nothing.
 *
 * An edit that cannot be made (a conflict, a stub without content) fails alone. Several edits of one document in one
 * commit see each other in order.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import type { Steps, WriteTx } from '../../engine/engine.ts'
import { decideEdit, type EditDecision, type EditMode } from '../document/apply-edit.ts'
import { decodeAttachments, type StoredAttachment } from '../document/attachment.ts'
import { partitionOf } from '../document/document-id.ts'
import type { IncomingDocument } from '../document/incoming-document.ts'
import { mergePath } from '../document/merge-revisions.ts'
import { type Revision, type RevisionPath, sameRevision } from '../document/revision.ts'
import { newRevisionId } from '../document/revision-hash.ts'
import { findNode, type RevisionNode, type RevisionTree } from '../document/revision-tree.ts'
import { stemTree } from '../document/trim-revisions.ts'
import { ContentChanges } from './attachment-contents.ts'
import { type DatabaseHead, decodeHead, encodeHead } from './database-head.ts'
import { isDesignId, putDesignStamp } from './design-stamp.ts'
import { DocumentState } from './document-state.ts'
import { type EditAttachment, placeAttachments } from './edit-attachments.ts'
import { IdCountChanges } from './id-counts.ts'
import { documentKey, documentsBetween, HEAD, idBytesOfKey, REVISION_LIMIT } from './keyspace.ts'
import { PartitionChanges, readPartitions } from './partition-counts.ts'
import { SequenceCountChanges } from './sequence-counts.ts'
import { decodeDocument } from './stored-document.ts'

export interface DocumentEdit {
  readonly id: string
  readonly document: IncomingDocument
  /** What becomes of its attachments; absent when it has none. */
  readonly attachments?: readonly EditAttachment[]
  readonly mode: EditMode
  /**
   * An interactive edit of a document that does not exist may name any parent: it is taken on trust. Bulk writes of
   * CouchDB do that, single ones do not.
   */
  readonly trustsParent?: boolean
  /** Documents whose state somebody judged the edit by: it fails as a conflict if one of them is another by now. */
  readonly judgedBy?: readonly JudgedState[]
  /** An edit that makes its document larger fails when its partition has so many external bytes already. */
  readonly partitionBytesMax?: number
}

/** The winner that was there, deleted or not; undefined: there was no such document. */
export interface JudgedState {
  readonly id: string
  readonly winner: Revision | undefined
}

export type EditResult =
  | { readonly ok: true; readonly rev: Revision }
  | { readonly ok: false; readonly failure: Failure }

/** The edits of one caller. */
export interface CommitWork {
  readonly edits: readonly DocumentEdit[]
  readonly count: number
  readonly bytes: number
}

export interface Committed {
  readonly results: EditResult[][]
  readonly seq: number
  readonly changed: boolean
}

const REVISION_LIMIT_DEFAULT = 1000

/** @param partitioned the database counts its partitions */
export const commitEdits = (works: readonly CommitWork[], partitioned = false) =>
  function* (tx: WriteTx): Steps<Committed> {
    const commit = yield* Commit.begin(tx, works, partitioned)
    const results: EditResult[][] = []
    for (const { edits } of works) {
      const own: EditResult[] = []
      for (const edit of edits) own.push(yield* commit.edit(edit))
      results.push(own)
    }
    yield* commit.finish()
    return { results, seq: commit.seq, changed: commit.changed }
  }

class Commit {
  readonly #tx: WriteTx
  readonly #states: ReadonlyMap<string, DocumentState>
  readonly #before: DatabaseHead
  readonly #revisionLimit: number
  readonly #contents = new ContentChanges()
  /** External bytes of the partitions that were asked about; undefined where the database has none. */
  readonly #partitions: ReadonlyMap<string, number> | undefined
  #nextBodyKey: number
  #seq: number

  private constructor(
    tx: WriteTx,
    states: ReadonlyMap<string, DocumentState>,
    head: DatabaseHead,
    more: {
      readonly revisionLimit: number
      readonly partitions: ReadonlyMap<string, number> | undefined
    },
  ) {
    this.#tx = tx
    this.#states = states
    this.#before = head
    this.#revisionLimit = more.revisionLimit
    this.#partitions = more.partitions
    this.#nextBodyKey = head.nextBodyKey
    this.#seq = head.updateSeq
  }

  static *begin(tx: WriteTx, works: readonly CommitWork[], partitioned: boolean): Steps<Commit> {
    const ids = new Set<string>()
    for (const { edits } of works) {
      for (const { id, judgedBy } of edits) {
        ids.add(id)
        for (const judged of judgedBy ?? []) ids.add(judged.id)
      }
    }
    const keys = [...ids].map(documentKey)
    const [head, limit, ...records] = yield* tx.getMany([HEAD, REVISION_LIMIT, ...keys])
    if (head === undefined) throw new Failure('database_missing')
    const states = new Map<string, DocumentState>()
    let index = 0
    for (const id of ids) {
      const bytes = records[index]
      const stored = bytes === undefined ? undefined : decodeDocument(bytes, id)
      states.set(id, new DocumentState(id, keys[index] as Buffer, stored))
      index++
    }
    const revisionLimit = limit === undefined ? REVISION_LIMIT_DEFAULT : Number(limit.toString())
    const partitions = partitioned ? yield* partitionBytes(tx, works) : undefined
    return new Commit(tx, states, decodeHead(head), { revisionLimit, partitions })
  }

  get seq(): number {
    return this.#seq
  }

  get changed(): boolean {
    return this.#seq !== this.#before.updateSeq
  }

  *edit(edit: DocumentEdit): Steps<EditResult> {
    try {
      return yield* this.#edit(edit)
    } catch (thrown) {
      if (isFailure(thrown) && EDIT_FAILURES.has(thrown.code)) return { ok: false, failure: thrown }
      throw thrown
    } finally {
      for (const attachment of edit.attachments ?? []) {
        if (attachment.kind === 'new') this.#contents.release(attachment.content)
      }
    }
  }

  *#edit(edit: DocumentEdit): Steps<EditResult> {
    const { document, id } = edit
    const state = this.#states.get(id) as DocumentState
    if (edit.judgedBy?.some(judged => !this.#isStill(judged))) {
      throw new Failure('document_conflict', { subject: id, judgedAnew: true })
    }
    const decision = decisionFor(state.tree, edit, this.#revisionLimit)
    if (decision.kind === 'conflict') throw new Failure('document_conflict', { subject: id })
    if (decision.kind === 'nothing') return { ok: true, rev: document.rev as Revision }
    const attachments = yield* this.#placed(state, edit, decision)
    this.#checkPartition(state, edit, attachments)
    const path = pathOf(document, decision, attachments)
    const bodyKey = this.#nextBodyKey++
    const { deleted, body } = document
    const merged = mergePath(state.treeOrEmpty, path, { deleted, bodyKey })
    if (merged.tookPayload) {
      this.#refer(edit.attachments ?? [], attachments)
      state.addBody(bodyKey, { id, attachments, body })
    }
    yield* state.become(this.#tx, stemTree(merged.tree, this.#revisionLimit), ++this.#seq)
    return { ok: true, rev: { pos: path.start, id: path.ids[0] as Buffer } }
  }

  /** A full partition still takes what makes a document smaller, so that it can be emptied. */
  #checkPartition(
    state: DocumentState,
    { id, document, partitionBytesMax }: DocumentEdit,
    attachments: readonly StoredAttachment[],
  ): void {
    const partition = partitionBytesMax === undefined ? undefined : partitionOf(id)
    if (partition === undefined || partitionBytesMax === undefined) return
    if ((this.#partitions?.get(partition) ?? 0) < partitionBytesMax) return
    const bytes = attachments.reduce((sum, { length }) => sum + length, document.body.length)
    if (bytes <= state.externalBytesNow) return
    const reason = `Partition limit exceeded due to update on '${id}'`
    throw new Failure('partition_full', { subject: id, reason })
  }

  #isStill({ id, winner }: JudgedState): boolean {
    const now = (this.#states.get(id) as DocumentState).winner
    if (now === undefined || winner === undefined) return now === winner
    return sameRevision(now, winner)
  }

  /** The attachments the new revision will have: new ones, and those its stubs stand for. */
  *#placed(
    state: DocumentState,
    edit: DocumentEdit,
    decision: EditDecision & { kind: 'extend' | 'merge' },
  ): Steps<StoredAttachment[]> {
    const given = edit.attachments ?? []
    if (given.length === 0) return []
    yield* this.#checkKept(edit.id, given)
    const needsParent = given.some(attachment => attachment.kind === 'stub')
    const ancestor = needsParent ? ancestorOf(state.tree, decision) : undefined
    const body =
      ancestor === undefined ? undefined : yield* state.bodyOf(this.#tx, ancestor.bodyKey)
    const parent = body === undefined ? [] : decodeAttachments(body.attachments)
    const newRevpos = decision.kind === 'extend' ? decision.revpos : decision.path.start
    return placeAttachments(given, { id: edit.id, parent, newRevpos, mode: edit.mode })
  }

  /** What is copied from elsewhere was read before this commit and may be gone by now. */
  *#checkKept(id: string, given: readonly EditAttachment[]): Steps<void> {
    for (const attachment of given) {
      if (attachment.kind !== 'kept') continue
      if (yield* this.#contents.isThere(this.#tx, attachment.stored.contentId)) continue
      const reason = `Invalid attachment stub in ${id} for ${attachment.name}`
      throw new Failure('attachment_stub_missing', { reason })
    }
  }

  /** Every stored revision holds one reference on each of its contents. */
  #refer(given: readonly EditAttachment[], placed: readonly StoredAttachment[]): void {
    for (const attachment of given)
      if (attachment.kind === 'new') this.#contents.claim(attachment.content)
    const fresh = new Set(given.filter(each => each.kind === 'new').map(each => each.name))
    for (const { name, contentId } of placed) {
      if (!fresh.has(name)) this.#contents.refer(contentId, 1)
    }
  }

  *finish(): Steps<void> {
    const sequenceCounts = new SequenceCountChanges()
    const idCounts = new IdCountChanges()
    const partitions = new PartitionChanges()
    let { liveCount, deletedCount, externalBytes } = this.#before
    let designsChange = false
    for (const state of this.#states.values()) {
      if (!state.isChanged) continue
      state.put(this.#tx)
      designsChange ||= isDesignId(state.id)
      if (state.before) sequenceCounts.add(state.before.seq, -1)
      sequenceCounts.add(state.seq, 1)
      const wasLive = state.before?.deleted === false
      if (state.isLive !== wasLive) idCounts.add(idBytesOfKey(state.key), state.isLive ? 1 : -1)
      liveCount += Number(state.isLive) - Number(wasLive)
      deletedCount += Number(!state.isLive) - Number(state.before?.deleted === true)
      externalBytes += state.externalBytesGained
      if (this.#partitions !== undefined) partitions.add(state)
    }
    if (designsChange) putDesignStamp(this.#tx, this.#seq)
    yield* this.#contents.apply(this.#tx, () => this.#nextBodyKey++)
    yield* sequenceCounts.apply(this.#tx)
    yield* idCounts.apply(this.#tx, (start, end) => this.#liveIds(start, end))
    yield* partitions.apply(this.#tx)
    const head = {
      ...this.#before,
      updateSeq: this.#seq,
      nextBodyKey: this.#nextBodyKey,
      liveCount,
      deletedCount,
      externalBytes: Math.max(0, externalBytes),
    }
    if (this.#nextBodyKey !== this.#before.nextBodyKey) this.#tx.put(HEAD, encodeHead(head))
  }

  /** Live ids of a stretch as they will be: what is stored, and what this commit makes of it. */
  *#liveIds(start: Buffer, end: Buffer | undefined): Steps<Buffer[]> {
    const range = documentsBetween(start, end)
    const live = new Map<string, Buffer>()
    let rest = range
    for (;;) {
      const rows = yield* this.#tx.scan(rest, { limit: 1000, bytesMax: 4 * 1024 * 1024 })
      for (const { key, value } of rows) {
        const deleted = (value[1] as number) & 1
        if (deleted === 0) live.set(key.toString('latin1'), idBytesOfKey(key))
      }
      const last = rows.at(-1)
      if (last === undefined) break
      rest = { start: Buffer.concat([last.key, Buffer.of(0)]), end: range.end }
    }
    for (const state of this.#states.values()) {
      const name = state.key.toString('latin1')
      const inside =
        Buffer.compare(state.key, range.start) >= 0 && Buffer.compare(state.key, range.end) < 0
      if (inside && state.isChanged && state.isLive) live.set(name, idBytesOfKey(state.key))
      else if (state.isChanged && !state.isLive) live.delete(name)
    }
    return [...live.values()].sort(Buffer.compare)
  }
}

/** External bytes, at the beginning of the commit, of the partitions that have a limit. */
function* partitionBytes(tx: WriteTx, works: readonly CommitWork[]): Steps<Map<string, number>> {
  const names = new Set<string>()
  for (const { edits } of works) {
    for (const { id, partitionBytesMax } of edits) {
      const partition = partitionBytesMax === undefined ? undefined : partitionOf(id)
      if (partition !== undefined) names.add(partition)
    }
  }
  const partitions = [...names]
  const counts = yield* readPartitions(tx, partitions)
  return new Map(partitions.map((name, at) => [name, counts[at]?.externalBytes ?? 0]))
}

/** Failures of one edit; anything else ends the whole commit. */
const EDIT_FAILURES: ReadonlySet<string> = new Set([
  'document_conflict',
  'attachment_stub_missing',
  'partition_full',
  'request_invalid',
])

/** What an edit does to a document with this tree; the same question before the commit has the same answer. */
export const decisionFor = (
  tree: RevisionTree | undefined,
  edit: DocumentEdit,
  revisionLimit: number,
): EditDecision =>
  trustedParent(tree, edit) ?? decideEdit(tree, edit.document, edit.mode, revisionLimit)

function trustedParent(
  tree: RevisionTree | undefined,
  { document, mode, trustsParent }: DocumentEdit,
): (EditDecision & { kind: 'extend' }) | undefined {
  const { rev } = document
  if (!trustsParent || mode !== 'interactive' || rev === undefined) return undefined
  if (tree !== undefined) return undefined
  return { kind: 'extend', parent: rev, pos: rev.pos + 1, revpos: rev.pos + 1 }
}

function pathOf(
  document: IncomingDocument,
  decision: EditDecision & { kind: 'extend' | 'merge' },
  attachments: readonly StoredAttachment[],
): RevisionPath {
  if (decision.kind === 'merge') return decision.path
  const { parent, pos, revpos } = decision
  const { deleted, bodyTerm } = document
  const id = newRevisionId({ deleted, parent, bodyTerm, attachments, recreates: revpos !== pos })
  return { start: pos, ids: parent === undefined ? [id] : [id, parent.id] }
}

/** Whose attachments stubs stand for: the parent, or the nearest ancestor that is stored. */
export function ancestorOf(
  tree: RevisionTree | undefined,
  decision: EditDecision & { kind: 'extend' | 'merge' },
): RevisionNode | undefined {
  if (tree === undefined) return undefined
  if (decision.kind === 'extend') return decision.parent && findNode(tree, decision.parent)
  const { start, ids } = decision.path
  for (const [back, id] of ids.entries()) {
    const node = findNode(tree, { pos: start - back, id })
    if (node !== undefined && node.bodyKey !== 0) return node
  }
  return undefined
}
