/**
 * What a batch of changed documents does to the trees of an index: finds the rows the documents
 * have by their back references and sets them against the new ones. Reads only; the edits are for
 * tree-update.ts.
 */
import type { ReadTx, Steps } from '../../engine/engine.ts'
import { decodeBackReferences, encodeBackReferences } from './back-references.ts'
import type { DocumentRows } from './index-rows.ts'
import { type IndexTree, readRoot } from './index-tree.ts'
import { type NodeCache, NodeReader } from './node-store.ts'
import { TreeCursor } from './tree-cursor.ts'
import type { NewRow, PlaceEdit } from './tree-update.ts'

/** For each tree its edits, sorted by place. `documents` holds each id once. */
export function* planBatch(
  tx: ReadTx,
  trees: readonly IndexTree[],
  cache: NodeCache,
  documents: readonly DocumentRows[],
): Steps<PlaceEdit[][]> {
  const edits: PlaceEdit[][] = trees.map(() => [])
  const backReferences = trees[trees.length - 1] as IndexTree
  const known = yield* knownReferences(tx, backReferences, cache, documents)
  documents.forEach((document, i) => {
    addEdits(trees, edits, document, known[i])
  })
  for (const list of edits) list.sort((one, two) => Buffer.compare(one.place, two.place))
  return edits
}

function addEdits(
  trees: readonly IndexTree[],
  edits: readonly PlaceEdit[][],
  document: DocumentRows,
  known: Buffer | undefined,
): void {
  const id = Buffer.from(document.id)
  const idText = Buffer.from(JSON.stringify(document.id))
  const places = trees.map(() => new Map<string, { place: Buffer; rows: NewRow[] }>())
  document.rows.forEach((rows, tree) => {
    for (const { keyText, valueText } of rows) {
      editAt(places, trees, tree, keyText, id).rows.push({ idText, keyText, valueText })
    }
  })
  if (known !== undefined) {
    for (const { tree, keyText } of decodeBackReferences(known))
      editAt(places, trees, tree, keyText, id)
  }
  places.forEach((byPlace, tree) => {
    for (const edit of byPlace.values()) edits[tree]?.push(edit)
  })
  const value = encodeBackReferences(document)
  if (value === undefined ? known === undefined : known?.equals(value)) return
  const rows = value === undefined ? [] : [{ idText: id, keyText: NOTHING, valueText: value }]
  edits[trees.length - 1]?.push({ place: id, rows })
}

function editAt(
  places: readonly Map<string, { place: Buffer; rows: NewRow[] }>[],
  trees: readonly IndexTree[],
  tree: number,
  keyText: Buffer,
  id: Buffer,
): { place: Buffer; rows: NewRow[] } {
  const place = (trees[tree] as IndexTree).order.place(keyText, id)
  const byPlace = places[tree] as Map<string, { place: Buffer; rows: NewRow[] }>
  const name = place.toString('latin1')
  let edit = byPlace.get(name)
  if (edit === undefined) {
    edit = { place, rows: [] }
    byPlace.set(name, edit)
  }
  return edit
}

/** The stored back references of each document, undefined for those that have none. */
function* knownReferences(
  tx: ReadTx,
  tree: IndexTree,
  cache: NodeCache,
  documents: readonly DocumentRows[],
): Steps<(Buffer | undefined)[]> {
  const root = yield* readRoot(tx, tree)
  if (root === undefined) return documents.map(() => undefined)
  const cursor = new TreeCursor(new NodeReader(tx, tree, cache, root.incarnation), root)
  const found: (Buffer | undefined)[] = []
  for (const { id } of documents) {
    const place = Buffer.from(id)
    const row = yield* cursor.seek(place)
    const isThere = row < cursor.block.count && cursor.block.idText(row).equals(place)
    found.push(isThere ? cursor.block.valueText(row) : undefined)
  }
  return found
}

const NOTHING = Buffer.alloc(0)
