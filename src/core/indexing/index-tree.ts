/**
 * One tree of an index: what its rows look like, how they sort and what sums them up, and the
 * record that names its root. An index has a tree for each of its views and one more, the back
 * references, that tells which rows a document has (back-references.ts).
 *
 * Format of a root record: the incarnation (8 bytes), the height (0: the root is a block), node
 * number, rows, and the reductions of all rows. A tree without rows has no record.
 */
import type { Collator } from '../../base/collate/collator.ts'
import { KeyWriter } from '../../base/collate/key-writer.ts'
import type { ReadTx, Steps } from '../../engine/engine.ts'
import type { ChildEntry } from './branch-node.ts'
import { appendBlob, appendVarint, ByteReader } from './byte-codec.ts'
import { rootKey } from './index-keys.ts'
import type { Reducer } from './reducer.ts'
import { BARE_FRAME, type RowFrame, WIRE_FRAME } from './row-block.ts'
import { RowOrder, type TreeOrder } from './row-order.ts'

export interface IndexTree {
  readonly number: number
  readonly order: RowOrder
  readonly frame: RowFrame
  readonly reducers: readonly Reducer[]
  readonly rootKey: Buffer
  /** The root as it was read last. */
  known?: { readonly bytes: Buffer; readonly root: StoredRoot }
}

/** What an index kind says about each of its trees. */
export interface TreeDefinition {
  readonly order: TreeOrder
  readonly reducers: readonly Reducer[]
  /** Rows are asked partition by partition. */
  readonly partitioned?: boolean
}

export const BACK_REFERENCE_TREE = 0xffff

export const makeTree = (
  collator: Collator,
  number: number,
  definition: TreeDefinition,
): IndexTree => ({
  number,
  order: new RowOrder(collator, definition.order, definition.partitioned),
  frame: WIRE_FRAME,
  reducers: definition.reducers,
  rootKey: rootKey(number),
})

export const makeBackReferenceTree = (collator: Collator): IndexTree => ({
  number: BACK_REFERENCE_TREE,
  order: new RowOrder(collator, 'id'),
  frame: BARE_FRAME,
  reducers: [],
  rootKey: rootKey(BACK_REFERENCE_TREE),
})

export interface TreeRoot {
  readonly incarnation: string
  /** Levels of branches above the blocks. */
  readonly height: number
  readonly entry: ChildEntry
}

export interface StoredRoot extends TreeRoot {
  /** Another one whenever the rows of the tree are others. */
  readonly tag: string
}

export function* readRoot(tx: ReadTx, tree: IndexTree): Steps<StoredRoot | undefined> {
  const bytes = yield* tx.get(tree.rootKey)
  if (bytes === undefined) return undefined
  // Every question looks at it, and it is mostly the same.
  if (!tree.known?.bytes.equals(bytes)) tree.known = { bytes, root: decodeRoot(bytes, tree) }
  return tree.known.root
}

function decodeRoot(bytes: Buffer, tree: IndexTree): StoredRoot {
  const reader = new ByteReader(bytes)
  const incarnation = reader.take(INCARNATION_LENGTH).toString('latin1')
  const height = reader.varint()
  const node = reader.varint()
  const rows = reader.varint()
  const reductions = tree.reducers.map(() => reader.blob())
  const tag = `${Buffer.from(incarnation, 'latin1').toString('hex')}-${node}`
  return { incarnation, tag, height, entry: { separator: NOTHING, node, rows, reductions } }
}

export function encodeRoot(root: TreeRoot): Buffer {
  const out = new KeyWriter()
  out.append(Buffer.from(root.incarnation, 'latin1'))
  appendVarint(out, root.height)
  appendVarint(out, root.entry.node)
  appendVarint(out, root.entry.rows)
  for (const reduction of root.entry.reductions) appendBlob(out, reduction)
  return out.copy()
}

export const INCARNATION_LENGTH = 8
const NOTHING = Buffer.alloc(0)
