/**
 * The rows of a first build in memory: for each tree its different keys (key-table.ts) and for each row the number of
 * its key, of its document, and its value. Rows are never compared: documents are sorted by id and keys by sort key,
 * and then all rows are dealt out to their keys, document by document.
 *
 * A document that comes more than once counts as it came last. Numbers of documents grow over the whole build; those
 * here begin at `firstDocument`.
 */
import { KeyWriter } from '../../base/collate/key-writer.ts'
import { ReferenceWriter } from './back-references.ts'
import type { IndexTree } from './index-tree.ts'
import { isEqual, KeyTable, rankKeys, sortedPlaces } from './key-table.ts'
import { type MappedRows, PLACES_PER_ROW } from './mapped-rows.ts'
import { NumberList } from './number-list.ts'
import { byPartition, rankPartitions } from './partition-ranks.ts'
import type { RowPieces } from './row-pieces.ts'

/** The rows of one tree. */
class TreeRows {
  readonly keys = new KeyTable()
  /** For each row. */
  readonly keyOf = new NumberList()
  readonly documentOf = new NumberList()
  readonly valueEnds = new NumberList()
  readonly values = new KeyWriter()
  /** For each document: how many rows there are up to it. */
  readonly rowEnds = new NumberList()

  get byteLength(): number {
    const { keys, keyOf, values, rowEnds } = this
    return keys.byteLength + keyOf.length * 16 + values.length + rowEnds.length * 4
  }

  rowStart(document: number): number {
    return document === 0 ? 0 : (this.rowEnds.values[document - 1] as number)
  }

  rowEnd(document: number): number {
    return this.rowEnds.values[document] as number
  }

  clear(): void {
    this.keys.clear()
    for (const list of [this.keyOf, this.documentOf, this.valueEnds, this.rowEnds]) list.clear()
    this.values.reset()
  }
}

/** Texts one behind the other. */
class Texts {
  readonly out = new KeyWriter()
  readonly starts = new NumberList()

  constructor() {
    this.starts.push(0)
  }

  add(text: string): void {
    const { out } = this
    out.reserve(text.length * 3)
    out.length += out.bytes.write(text, out.length)
    this.starts.push(out.length)
  }

  clear(): void {
    this.out.reset()
    this.starts.clear()
    this.starts.push(0)
  }
}

export class RowTable {
  readonly #trees: readonly IndexTree[]
  readonly #rows: readonly TreeRows[]
  /** Plain UTF-8, for sorting. */
  readonly #ids = new Texts()
  /** JSON strings. */
  readonly #idTexts = new Texts()
  #firstDocument: number
  #documentOrder: Uint32Array | undefined

  /** `trees`: those of the rows, without the one of the back references. */
  constructor(trees: readonly IndexTree[], firstDocument: number) {
    this.#trees = trees
    this.#rows = trees.map(() => new TreeRows())
    this.#firstDocument = firstDocument
  }

  get documentCount(): number {
    return this.#ids.starts.length - 1
  }

  /** The number of the next document. */
  get nextDocument(): number {
    return this.#firstDocument + this.documentCount
  }

  /** About the memory in use, that of sorting included. */
  get byteLength(): number {
    let bytes = this.#ids.out.length + this.#idTexts.out.length + this.documentCount * 16
    for (const rows of this.#rows) bytes += rows.byteLength
    return bytes
  }

  add(mapped: MappedRows): void {
    const { ids, treeCount, rowEnds } = mapped
    let row = 0
    for (let document = 0; document < ids.length; document++) {
      const number = this.#addId(ids[document] as string)
      for (let tree = 0; tree < treeCount; tree++) {
        const into = this.#rows[tree] as TreeRows
        const end = rowEnds[document * treeCount + tree] as number
        addRows(into, mapped, { row, end, document: number })
        row = end
      }
    }
  }

  /** A document that has no rows, or none any more. */
  addRowless(id: string): void {
    this.#addId(id)
    for (const rows of this.#rows) rows.rowEnds.push(rows.keyOf.length)
  }

  clear(): void {
    this.#firstDocument = this.nextDocument
    this.#documentOrder = undefined
    for (const rows of this.#rows) rows.clear()
    this.#ids.clear()
    this.#idTexts.clear()
  }

  /** Goes over the rows of a tree, in order, each in `pieces`. */
  rowsOf(tree: number, pieces: RowPieces): RowCursor {
    const rows = this.#rows[tree] as TreeRows
    const ids = this.#idTexts
    return new SortedRows(
      { rows, ids, firstDocument: this.#firstDocument },
      this.#sorted(tree),
      pieces,
    )
  }

  /** The same for the tree of back references. */
  references(pieces: RowPieces): RowCursor {
    const parts = { trees: this.#rows, ids: this.#ids, firstDocument: this.#firstDocument }
    return new References(parts, this.#documents(), pieces)
  }

  /** The numbers of the rows of a tree, in order. */
  #sorted(tree: number): Uint32Array {
    const rows = this.#rows[tree] as TreeRows
    const { ranks, rankCount } = rankKeys(rows.keys, (this.#trees[tree] as IndexTree).order)
    const documents = this.#documents()
    const keyOf = rows.keyOf.values
    const next = new Uint32Array(rankCount + 1)
    let count = 0
    for (const document of documents) {
      for (let row = rows.rowStart(document); row < rows.rowEnd(document); row++) {
        const after = (ranks[keyOf[row] as number] as number) + 1
        next[after] = (next[after] as number) + 1
        count++
      }
    }
    for (let rank = 1; rank <= rankCount; rank++) {
      next[rank] = (next[rank] as number) + (next[rank - 1] as number)
    }
    const order = new Uint32Array(count)
    for (const document of documents) {
      const end = rows.rowEnd(document)
      for (let row = rows.rowStart(document); row < end; row++) {
        const rank = ranks[keyOf[row] as number] as number
        const at = next[rank] as number
        next[rank] = at + 1
        order[at] = row
      }
    }
    if (!(this.#trees[tree] as IndexTree).order.isPartitioned) return order
    const partitions = rankPartitions(this.#ids.out.bytes, this.#ids.starts.taken(), documents)
    return byPartition(order, rows.documentOf.values, partitions)
  }

  #addId(id: string): number {
    const number = this.documentCount
    this.#ids.add(id)
    this.#idTexts.add(JSON.stringify(id))
    this.#documentOrder = undefined
    return number
  }

  /** Documents by id; of those that came more than once the last. */
  #documents(): Uint32Array {
    this.#documentOrder ??= withoutOlder(this.#ids.out.bytes, this.#ids.starts.taken())
    return this.#documentOrder
  }
}

/** Adds the rows of a document in one tree. */
function addRows(
  { keys, keyOf, documentOf, values, valueEnds, rowEnds }: TreeRows,
  { bytes, places }: MappedRows,
  { row, end, document }: { readonly row: number; readonly end: number; readonly document: number },
): void {
  for (const list of [keyOf, documentOf, valueEnds]) list.reserve(end - row)
  let to = keyOf.length
  for (let at = row * PLACES_PER_ROW; at < end * PLACES_PER_ROW; at += PLACES_PER_ROW) {
    keyOf.values[to] = keys.numberOf(bytes, places[at] as number, places[at + 1] as number)
    documentOf.values[to] = document
    values.append(bytes, places[at + 2], places[at + 3])
    valueEnds.values[to++] = values.length
  }
  keyOf.length = to
  documentOf.length = to
  valueEnds.length = to
  rowEnds.push(to)
}

function withoutOlder(bytes: Buffer, starts: Uint32Array): Uint32Array {
  const order = sortedPlaces(bytes, starts)
  let kept = 0
  for (let i = 0; i < order.length; i++) {
    const document = order[i] as number
    const isLast = i + 1 === order.length
    if (!isLast && isEqual(bytes, starts, document, order[i + 1] as number)) continue
    order[kept++] = document
  }
  return order.subarray(0, kept)
}

/** Goes from row to row. */
export interface RowCursor {
  /** False at the end. */
  next(): boolean
}

class SortedRows implements RowCursor {
  readonly #parts: { rows: TreeRows; ids: Texts; firstDocument: number }
  readonly #order: Uint32Array
  readonly #pieces: RowPieces
  #at = 0
  #key = -1

  constructor(
    parts: { rows: TreeRows; ids: Texts; firstDocument: number },
    order: Uint32Array,
    pieces: RowPieces,
  ) {
    this.#parts = parts
    this.#order = order
    this.#pieces = pieces
    pieces.keyBytes = parts.rows.keys.bytes
    pieces.valueBytes = parts.rows.values.bytes
    pieces.idBytes = parts.ids.out.bytes
  }

  next(): boolean {
    if (this.#at === this.#order.length) return false
    const { rows, ids, firstDocument } = this.#parts
    const { keys, keyOf, documentOf, valueEnds } = rows
    const pieces = this.#pieces
    const row = this.#order[this.#at++] as number
    const key = keyOf.values[row] as number
    const document = documentOf.values[row] as number
    pieces.hasSameKey = key === this.#key
    this.#key = key
    pieces.keyStart = keys.start(key)
    pieces.keyEnd = keys.end(key)
    pieces.valueStart = row === 0 ? 0 : (valueEnds.values[row - 1] as number)
    pieces.valueEnd = valueEnds.values[row] as number
    pieces.idStart = ids.starts.values[document] as number
    pieces.idEnd = ids.starts.values[document + 1] as number
    pieces.document = firstDocument + document
    return true
  }
}

/**
 * A document without rows has a reference of no value, which says that what earlier runs know of it is void.
 */
class References implements RowCursor {
  readonly #parts: { trees: readonly TreeRows[]; ids: Texts; firstDocument: number }
  readonly #order: Uint32Array
  readonly #pieces: RowPieces
  /** For each key of each tree the document that was last seen with it, and one more. */
  readonly #stamps: readonly Uint32Array[]
  readonly #writer = new ReferenceWriter()
  #at = 0

  constructor(
    parts: { trees: readonly TreeRows[]; ids: Texts; firstDocument: number },
    order: Uint32Array,
    pieces: RowPieces,
  ) {
    this.#parts = parts
    this.#order = order
    this.#pieces = pieces
    this.#stamps = parts.trees.map(({ keys }) => new Uint32Array(keys.count))
    pieces.keyStart = 0
    pieces.keyEnd = 0
    pieces.hasSameKey = false
    pieces.idBytes = parts.ids.out.bytes
  }

  next(): boolean {
    if (this.#at === this.#order.length) return false
    const { trees, ids, firstDocument } = this.#parts
    const pieces = this.#pieces
    const document = this.#order[this.#at++] as number
    const writer = this.#writer
    writer.beginDocument()
    for (let tree = 0; tree < trees.length; tree++) this.#addTree(tree, document)
    // A block looks back at the values of the rows before.
    pieces.valueBytes = writer.out.copy()
    pieces.valueStart = 0
    pieces.valueEnd = writer.out.length
    pieces.idStart = ids.starts.values[document] as number
    pieces.idEnd = ids.starts.values[document + 1] as number
    pieces.document = firstDocument + document
    return true
  }

  #addTree(tree: number, document: number): void {
    const rows = this.#parts.trees[tree] as TreeRows
    const stamps = this.#stamps[tree] as Uint32Array
    const { keys, keyOf } = rows
    const start = rows.rowStart(document)
    const end = rows.rowEnd(document)
    if (start === end) return
    const stamp = document + 1
    let count = 0
    for (let row = start; row < end; row++) {
      const key = keyOf.values[row] as number
      if (stamps[key] === stamp) continue
      stamps[key] = stamp
      count++
    }
    this.#writer.beginTree(tree, count)
    for (let row = start; row < end; row++) {
      const key = keyOf.values[row] as number
      if (stamps[key] !== stamp) continue
      stamps[key] = 0
      this.#writer.addKey(keys.bytes, keys.start(key), keys.end(key))
    }
  }
}
