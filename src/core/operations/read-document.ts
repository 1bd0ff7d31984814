/**
 * Reading one document: the winner, a named revision, or several. The plain read is one engine get and looks at no tree;
 * what else is asked for (history, conflicts) is decoded only then.
 */
import { Failure } from '../../base/errors.ts'
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import type { ReadTx, Steps } from '../../engine/engine.ts'
import type { Database } from '../database/database.ts'
import { documentKey } from '../database/keyspace.ts'
import { bodyOfRevision, loadDocument } from '../database/load-documents.ts'
import {
  decodeDocument,
  type StoredBody,
  type StoredDocument,
} from '../database/stored-document.ts'
import { decodeAttachments, type StoredAttachment } from '../document/attachment.ts'
import {
  compareRevisions,
  type Revision,
  type RevisionPath,
  sameRevision,
} from '../document/revision.ts'
import {
  conflicts,
  deletedConflicts,
  findNode,
  historyOf,
  leaves,
  leavesBelow,
  lineageOf,
  type RevisionNode,
  type RevisionTree,
} from '../document/revision-tree.ts'
import { decodeTree } from '../document/revision-tree-codec.ts'

export interface ReadOptions {
  readonly rev?: Revision | undefined
  /** The winner, whatever `rev` says. */
  readonly latest?: boolean
  /** A tombstone is as good as a document. */
  readonly deleted?: boolean
  readonly revs?: boolean
  readonly revsInfo?: boolean
  readonly conflicts?: boolean
  readonly deletedConflicts?: boolean
  readonly localSeq?: boolean
}

export interface RevisionStatus {
  readonly rev: Revision
  readonly status: 'available' | 'missing' | 'deleted'
}

export interface DocumentView {
  readonly id: string
  readonly rev: Revision
  readonly deleted: boolean
  /** JSON object text without special members. */
  readonly body: Buffer
  readonly attachments: readonly StoredAttachment[]
  readonly revisions?: RevisionPath
  readonly revsInfo?: readonly RevisionStatus[]
  readonly conflicts?: readonly Revision[]
  readonly deletedConflicts?: readonly Revision[]
  readonly localSeq?: number
}

export interface OpenOptions {
  /** The leaves below the revisions named, instead of these themselves. */
  readonly latest?: boolean
  readonly revs?: boolean
}

export type OpenedRevision = { readonly ok: DocumentView } | { readonly missing: Revision }

/**
 * Fails with `document_missing`, reason `missing` or `deleted`.
 *
 * @param ahead its record, where that was asked for already
 */
export function readDocument(
  database: Database,
  id: string,
  options: ReadOptions = {},
  ahead?: Promise<StoredDocument | undefined>,
): MaybePromise<DocumentView> {
  if (options.rev !== undefined && options.latest !== true) {
    return readRevision(database, id, options.rev, options.revs === true)
  }
  return after(ahead ?? loadDocument(database, id), document => {
    if (document === undefined) throw missing(id, 'missing')
    if (document.deleted && options.deleted !== true) throw missing(id, 'deleted')
    return viewOfWinner(document, options)
  })
}

/** All leaves, or the revisions named; each found one in ascending order, then those that are missing. */
export async function openRevisions(
  database: Database,
  id: string,
  wanted: 'all' | readonly Revision[],
  options: OpenOptions,
): Promise<OpenedRevision[] | undefined> {
  if (wanted === 'all') {
    // mostly there is one leaf or no document: that takes a get and no transaction
    const document = await loadDocument(database, id)
    if (document === undefined) return undefined
    if (!document.conflicted) return [winnerOpened(document, options)]
  }
  return database.store.read(tx => openRevisionsIn(tx, id, wanted, options))
}

export function* openRevisionsIn(
  tx: ReadTx,
  id: string,
  wanted: 'all' | readonly Revision[],
  options: OpenOptions,
): Steps<OpenedRevision[] | undefined> {
  const bytes = yield* tx.get(documentKey(id))
  if (bytes === undefined) {
    return wanted === 'all' ? undefined : wanted.map(missing => ({ missing }))
  }
  const document = decodeDocument(bytes, id)
  if (!document.conflicted && isWinnerOnly(document, wanted)) {
    return [winnerOpened(document, options)]
  }
  const tree = decodeTree(document.tree)
  const { found, lost } = select(tree, wanted, options.latest === true)
  const opened: OpenedRevision[] = []
  const bodiless: Revision[] = []
  for (const node of found) {
    const body = yield* bodyOfRevision(tx, document, node.bodyKey)
    if (body === undefined) bodiless.push(node)
    else {
      const history = options.revs === true ? tree : undefined
      opened.push({ ok: viewOfRevision(id, node, body, history) })
    }
  }
  return [...opened, ...[...bodiless, ...lost].map(rev => ({ missing: rev }))]
}

const winnerOpened = (document: StoredDocument, options: OpenOptions): OpenedRevision => ({
  ok: viewOfWinner(document, { revs: options.revs === true }),
})

/** The usual case, for which the tree need not be read. */
const isWinnerOnly = (document: StoredDocument, wanted: 'all' | readonly Revision[]): boolean =>
  wanted === 'all' || (wanted.length === 1 && sameRevision(wanted[0] as Revision, document.winner))

function select(
  tree: RevisionTree,
  wanted: 'all' | readonly Revision[],
  latest: boolean,
): { found: RevisionNode[]; lost: Revision[] } {
  if (wanted === 'all') return { found: leaves(tree).sort(compareRevisions), lost: [] }
  const lost: Revision[] = []
  const nodes: RevisionNode[] = []
  for (const rev of wanted) {
    const own = latest
      ? leavesBelow(tree, rev)
      : [findNode(tree, rev)].filter(node => node !== undefined)
    if (own.length === 0) lost.push(rev)
    for (const node of own) {
      if (!nodes.some(known => compareRevisions(known, node) === 0)) nodes.push(node)
    }
  }
  return { found: nodes.sort(compareRevisions), lost }
}

async function readRevision(
  database: Database,
  id: string,
  rev: Revision,
  withHistory: boolean,
): Promise<DocumentView> {
  const view = await database.store.read(function* (tx): Steps<DocumentView | undefined> {
    const bytes = yield* tx.get(documentKey(id))
    if (bytes === undefined) return undefined
    const document = decodeDocument(bytes, id)
    const tree = decodeTree(document.tree)
    const node = findNode(tree, rev)
    const body = node && (yield* bodyOfRevision(tx, document, node.bodyKey))
    return node && body && viewOfRevision(id, node, body, withHistory ? tree : undefined)
  })
  if (view === undefined) throw missing(id, 'missing')
  return view
}

/** @param tree given when the history is wanted too */
export function viewOfRevision(
  id: string,
  node: RevisionNode,
  { body, attachments }: Pick<StoredBody, 'body' | 'attachments'>,
  tree: RevisionTree | undefined,
): DocumentView {
  const view = {
    id,
    rev: node,
    deleted: node.deleted,
    body,
    attachments: decodeAttachments(attachments),
  }
  if (tree === undefined) return view
  return { ...view, revisions: { start: node.pos, ids: historyOf(tree, node) } }
}

export function viewOfWinner(document: StoredDocument, options: ReadOptions): DocumentView {
  const { id, winner, deleted, body } = document
  const attachments = decodeAttachments(document.attachments)
  const view: DocumentView = { id, rev: winner, deleted, body, attachments }
  const { conflicted } = document
  const wantsTree =
    options.revs ||
    options.revsInfo ||
    (conflicted && (options.conflicts || options.deletedConflicts))
  const withSeq = options.localSeq ? { ...view, localSeq: document.seq } : view
  return wantsTree ? { ...withSeq, ...fromTree(document, options) } : withSeq
}

function fromTree(document: StoredDocument, options: ReadOptions): Partial<DocumentView> {
  const tree = decodeTree(document.tree)
  const { winner } = document
  const others = options.conflicts ? conflicts(tree) : []
  const deleted = options.deletedConflicts ? deletedConflicts(tree) : []
  return {
    ...(options.revs ? { revisions: { start: winner.pos, ids: historyOf(tree, winner) } } : {}),
    ...(options.revsInfo ? { revsInfo: lineageOf(tree, winner).map(statusOf) } : {}),
    ...(others.length > 0 ? { conflicts: others } : {}),
    ...(deleted.length > 0 ? { deletedConflicts: deleted } : {}),
  }
}

const statusOf = (node: RevisionNode): RevisionStatus => ({
  rev: node,
  status: node.bodyKey === 0 ? 'missing' : node.deleted ? 'deleted' : 'available',
})

const missing = (id: string, reason: 'missing' | 'deleted'): Failure =>
  new Failure('document_missing', { subject: id, reason })
