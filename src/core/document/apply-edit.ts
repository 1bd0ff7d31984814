/**
 * Decides what an edit does to a document, knowing only its revision tree. An interactive edit must
 * extend a leaf (or begin or recreate the document), else it is a conflict. A replicated one brings
 * its own history and always fits. Hashing, storing and merging (`merge-revisions.ts`) are the
 * caller's.
 */
import { Failure } from '../../base/errors.ts'
import { mergePath } from './merge-revisions.ts'
import type { Revision, RevisionPath } from './revision.ts'
import { findNode, type RevisionTree, sameTree, winner } from './revision-tree.ts'
import { stemTree } from './trim-revisions.ts'

export interface Edit {
  readonly rev?: Revision | undefined
  readonly revisions?: RevisionPath | undefined
  readonly deleted: boolean
}

export type EditMode = 'interactive' | 'replicated'

export type EditDecision =
  | {
      /**
       * A new revision after `parent`; absent: the first one. The caller hashes and merges `[id,
       * parent's id]`.
       */
      readonly kind: 'extend'
      readonly parent?: Revision
      readonly pos: number
      /** What new attachments get. 1 after a tombstone, where CouchDB counts before it looks. */
      readonly revpos: number
    }
  | {
      /** The revision is named already; merge this path. */
      readonly kind: 'merge'
      readonly path: RevisionPath
    }
  | { readonly kind: 'conflict' }
  /** A replicated revision that is known, with all the history that comes with it. */
  | { readonly kind: 'nothing' }

/** `revsLimit`: history beyond it would be forgotten at once, so it is nothing new. */
export function decideEdit(
  tree: RevisionTree | undefined,
  edit: Edit,
  mode: EditMode,
  revsLimit = Number.POSITIVE_INFINITY,
): EditDecision {
  return mode === 'interactive'
    ? decideInteractive(tree, edit)
    : decideReplicated(tree, edit, revsLimit)
}

const CONFLICT: EditDecision = Object.freeze({ kind: 'conflict' })
const NOTHING: EditDecision = Object.freeze({ kind: 'nothing' })

function decideInteractive(tree: RevisionTree | undefined, edit: Edit): EditDecision {
  const current = tree === undefined ? undefined : winner(tree)
  if (tree === undefined || current === undefined) {
    return edit.rev === undefined ? { kind: 'extend', pos: 1, revpos: 1 } : CONFLICT
  }
  if (current.deleted) {
    if (edit.rev !== undefined || edit.deleted) return CONFLICT
    return { kind: 'extend', parent: current, pos: current.pos + 1, revpos: 1 }
  }
  const parent = edit.rev === undefined ? undefined : findNode(tree, edit.rev)
  if (parent === undefined || !parent.isLeaf) return CONFLICT
  return { kind: 'extend', parent, pos: parent.pos + 1, revpos: parent.pos + 1 }
}

function decideReplicated(
  tree: RevisionTree | undefined,
  edit: Edit,
  revsLimit: number,
): EditDecision {
  const path = pathOf(edit)
  const newest = path.ids[0]
  if (tree === undefined || newest === undefined) return { kind: 'merge', path }
  const known = findNode(tree, { pos: path.start, id: newest })
  if (known === undefined) return { kind: 'merge', path }
  // known: only a body for a revision without one, or older ancestors, would change anything
  const merged = mergePath(tree, path, { deleted: edit.deleted, bodyKey: 1 })
  const changes =
    merged.changed && (merged.tookPayload || !sameTree(stemTree(merged.tree, revsLimit), tree))
  return changes ? { kind: 'merge', path } : NOTHING
}

function pathOf(edit: Edit): RevisionPath {
  if (edit.revisions !== undefined && edit.revisions.ids.length > 0) return edit.revisions
  if (edit.rev !== undefined) return { start: edit.rev.pos, ids: [edit.rev.id] }
  throw new Failure('request_invalid', {
    reason: 'When `new_edits: false`, the document needs `_rev` or `_revisions` specified',
  })
}
