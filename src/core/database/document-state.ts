/**
 * A document while a commit works on it: what was stored, its tree as it grows, bodies that came, and where each body
 * will lie in the end. The winner's body is part of the record; all others lie under keys of their own.
 */
import { Failure } from '../../base/errors.ts'
import type { ReadTx, Steps, WriteTx } from '../../engine/engine.ts'
import {
  decodeAttachments,
  encodeAttachments,
  type StoredAttachment,
} from '../document/attachment.ts'
import type { Revision } from '../document/revision.ts'
import {
  emptyTree,
  leaves,
  type RevisionNode,
  type RevisionTree,
} from '../document/revision-tree.ts'
import { decodeTree, encodeTree } from '../document/revision-tree-codec.ts'
import { encodeChange } from './change-entry.ts'
import { changeKey, ID_BYTES_MAX, bodyKey as keyOfBody } from './keyspace.ts'
import {
  decodeBody,
  encodeBody,
  encodeDocument,
  type StoredBody,
  type StoredDocument,
} from './stored-document.ts'

export interface NewBody {
  readonly id: string
  readonly attachments: readonly StoredAttachment[]
  readonly body: Buffer
}

export class DocumentState {
  readonly id: string
  readonly key: Buffer
  readonly before: StoredDocument | undefined
  #tree: RevisionTree | undefined
  #seq: number
  #leaves: readonly RevisionNode[] = []
  /** Bodies in hand that may have to move: the stored winner's, and those that came. */
  readonly #bodies = new Map<number, StoredBody>()
  /** Body keys whose values lie in the store under keys of their own. */
  readonly #elsewhere = new Set<number>()
  #changed = false

  constructor(id: string, key: Buffer, before: StoredDocument | undefined) {
    this.id = id
    this.key = key
    this.before = before
    this.#seq = before?.seq ?? 0
    if (before) {
      this.#tree = decodeTree(before.tree)
      this.#bodies.set(before.bodyKey, before)
    }
  }

  get tree(): RevisionTree | undefined {
    return this.#tree
  }

  get treeOrEmpty(): RevisionTree {
    return this.#tree ?? emptyTree
  }

  get seq(): number {
    return this.#seq
  }

  get isChanged(): boolean {
    return this.#changed
  }

  /** The winner as it is now, deleted or not. */
  get winner(): Revision | undefined {
    return this.#changed ? this.#winner : this.before?.winner
  }

  get isLive(): boolean {
    return this.#changed ? this.#winner.deleted === false : this.before?.deleted === false
  }

  /** How many bytes the winner shows more than before. */
  get externalBytesGained(): number {
    const now = this.#bodies.get(this.#winner.bodyKey)
    return (now ? externalBytes(now) : 0) - (this.before ? externalBytes(this.before) : 0)
  }

  /** How many bytes the winner showed. */
  get externalBytesBefore(): number {
    return this.before ? externalBytes(this.before) : 0
  }

  /** How many bytes the winner shows by now. */
  get externalBytesNow(): number {
    return this.externalBytesBefore + (this.#changed ? this.externalBytesGained : 0)
  }

  /** How many bytes the winner takes in the store more than before. */
  get storedBytesGained(): number {
    const now = this.#bodies.get(this.#winner.bodyKey)
    return (now ? storedBytes(now) : 0) - this.storedBytesBefore
  }

  /** How many bytes the winner took in the store. */
  get storedBytesBefore(): number {
    return this.before ? storedBytes(this.before) : 0
  }

  /** The body goes with its revision: it is not to be stored elsewhere. */
  forgetBody(bodyKey: number): void {
    this.#bodies.delete(bodyKey)
  }

  get #winner(): RevisionNode {
    return this.#leaves[0] as RevisionNode
  }

  addBody(bodyKey: number, { id, attachments, body }: NewBody): void {
    this.#bodies.set(bodyKey, { id, attachments: encodeAttachments(attachments), body })
  }

  /** The body of any revision of this document, from hand or from the store. */
  *bodyOf(tx: ReadTx, bodyKey: number): Steps<StoredBody | undefined> {
    const inHand = this.#bodies.get(bodyKey)
    if (inHand !== undefined || bodyKey === 0) return inHand
    const bytes = yield* tx.get(keyOfBody(bodyKey))
    return bytes === undefined ? undefined : decodeBody(bytes)
  }

  /** Takes the tree an edit made, and makes sure that the winner's body is in hand. */
  *become(tx: ReadTx, tree: RevisionTree, seq: number): Steps<void> {
    this.#tree = tree
    this.#seq = seq
    this.#changed = true
    this.#leaves = leaves(tree)
    const { bodyKey } = this.#winner
    if (this.#bodies.has(bodyKey)) return
    const body = yield* this.bodyOf(tx, bodyKey)
    if (body === undefined) {
      throw new Failure('storage_corrupt', { subject: this.id, reason: 'a winner has no body' })
    }
    this.#bodies.set(bodyKey, body)
    this.#elsewhere.add(bodyKey)
  }

  put(tx: WriteTx): void {
    const winner = this.#winner
    const tree = this.#tree as RevisionTree
    const body = this.#bodies.get(winner.bodyKey) as StoredBody
    const document: StoredDocument = {
      id: this.id,
      deleted: winner.deleted,
      conflicted: this.#leaves.length > 1,
      seq: this.#seq,
      winner,
      bodyKey: winner.bodyKey,
      tree: encodeTree(tree),
      attachments: body.attachments,
      body: body.body,
    }
    tx.put(this.key, encodeDocument(document, this.key.length <= 1 + ID_BYTES_MAX))
    if (this.before) tx.delete(changeKey(this.before.seq))
    const change = { id: this.id, deleted: winner.deleted, leaves: this.#leaves }
    tx.put(changeKey(this.#seq), encodeChange(change))
    this.#putBodies(tx, winner.bodyKey)
  }

  #putBodies(tx: WriteTx, winnerKey: number): void {
    for (const [bodyKey, body] of this.#bodies) {
      if (bodyKey === winnerKey) {
        if (this.#elsewhere.has(bodyKey)) tx.delete(keyOfBody(bodyKey))
      } else if (!this.#elsewhere.has(bodyKey)) {
        tx.put(keyOfBody(bodyKey), encodeBody({ ...body, id: this.id }))
      }
    }
  }
}

function externalBytes({ body, attachments }: { body: Buffer; attachments: Buffer }): number {
  if (attachments.length === 0) return body.length
  return decodeAttachments(attachments).reduce((sum, { length }) => sum + length, body.length)
}

function storedBytes({ body, attachments }: { body: Buffer; attachments: Buffer }): number {
  const bytes = body.length + attachments.length
  if (attachments.length === 0) return bytes
  return decodeAttachments(attachments).reduce((sum, each) => sum + each.encodedLength, bytes)
}
