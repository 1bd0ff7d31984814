/**
 * Goes over the rows of a table (row-table.ts) in order. Rows are never compared: documents are sorted by id and keys by
 * sort key, and then all rows are dealt out to their keys, document by document.
 */
import { ReferenceWriter } from '../back-references.ts'
import type { RowOrder } from '../row-order.ts'
import { isEqual, rankKeys, sortedPlaces } from './key-table.ts'
import { byPartition, ROW_NUMBERS, rankPartitions } from './partition-ranks.ts'
import type { RowPieces } from './row-pieces.ts'
import { asBuffer, type TextImage } from './text-list.ts'

/** Plain data that another thread can be given; good until the table changes. */
export interface TableImage {
  /** Plain UTF-8, for sorting. */
  readonly ids: TextImage
  /** JSON strings. */
  readonly idTexts: TextImage
  readonly firstDocument: number
  /** Documents by id; of those that came more than once the last. */
  readonly documents: Uint32Array
  readonly trees: readonly TreeImage[]
}

export interface TreeImage {
  readonly keys: TextImage
  /** For each row. */
  readonly keyOf: Uint32Array
  readonly values: TextImage
  /** For each document where its rows begin, and where those of the last one end. */
  readonly rowStarts: Uint32Array
}

/** Goes from row to row. */
export interface RowCursor {
  /** False at the end. */
  next(): boolean
}

/** Documents by id; of those that came more than once the last. */
export function documentsById({ bytes, starts }: TextImage): Uint32Array {
  const texts = asBuffer(bytes)
  const order = sortedPlaces(texts, starts)
  let kept = 0
  for (let i = 0; i < order.length; i++) {
    const document = order[i] as number
    const isLast = i + 1 === order.length
    if (!isLast && isEqual(texts, starts, document, order[i + 1] as number)) continue
    order[kept++] = document
  }
  return order.subarray(0, kept)
}

/** The rows of a tree, in order. */
interface DealtRows {
  /** Two numbers a row: that of its document, and its own. */
  readonly rows: Uint32Array
  /** For each rank of keys where its rows end; undefined where rows of a rank do not lie together. */
  readonly rankEnds: Uint32Array | undefined
  /** The key of each rank, `SEVERAL` where keys sort alike. */
  readonly keyOfRank: Uint32Array
}

function dealRows(table: TableImage, tree: number, order: RowOrder): DealtRows {
  const { keys, keyOf, rowStarts } = table.trees[tree] as TreeImage
  const { documents } = table
  const { ranks, rankCount } = rankKeys(keys, order)
  const ends = new Uint32Array(rankCount + 1)
  let count = 0
  for (const document of documents) {
    const end = rowStarts[document + 1] as number
    for (let row = rowStarts[document] as number; row < end; row++) {
      const after = (ranks[keyOf[row] as number] as number) + 1
      ends[after] = (ends[after] as number) + 1
      count++
    }
  }
  for (let rank = 1; rank <= rankCount; rank++) {
    ends[rank] = (ends[rank] as number) + (ends[rank - 1] as number)
  }
  const rows = new Uint32Array(count * ROW_NUMBERS)
  for (const document of documents) {
    const end = rowStarts[document + 1] as number
    for (let row = rowStarts[document] as number; row < end; row++) {
      const rank = ranks[keyOf[row] as number] as number
      const at = ends[rank] as number
      ends[rank] = at + 1
      rows[at * ROW_NUMBERS] = document
      rows[at * ROW_NUMBERS + 1] = row
    }
  }
  const keyOfRank = keysOfRanks(ranks, rankCount)
  if (!order.isPartitioned) return { rows, rankEnds: ends, keyOfRank }
  const { bytes, starts } = table.ids
  const partitions = rankPartitions(asBuffer(bytes), starts, documents)
  return { rows: byPartition(rows, partitions), rankEnds: undefined, keyOfRank }
}

function keysOfRanks(ranks: Uint32Array, rankCount: number): Uint32Array {
  const keys = new Uint32Array(rankCount).fill(NO_KEY)
  for (let key = 0; key < ranks.length; key++) {
    const rank = ranks[key] as number
    keys[rank] = keys[rank] === NO_KEY ? key : SEVERAL
  }
  return keys
}

/** The rows of a tree, in order, each in `pieces`. */
export class SortedRows implements RowCursor {
  readonly #tree: TreeImage
  readonly #idStarts: Uint32Array
  readonly #firstDocument: number
  readonly #dealt: DealtRows
  readonly #pieces: RowPieces
  #at = 0
  #rank = 0
  #key = -1

  constructor(table: TableImage, tree: number, order: RowOrder, pieces: RowPieces) {
    this.#tree = table.trees[tree] as TreeImage
    this.#idStarts = table.idTexts.starts
    this.#firstDocument = table.firstDocument
    this.#dealt = dealRows(table, tree, order)
    this.#pieces = pieces
    pieces.keyBytes = asBuffer(this.#tree.keys.bytes)
    pieces.valueBytes = asBuffer(this.#tree.values.bytes)
    pieces.idBytes = asBuffer(table.idTexts.bytes)
  }

  next(): boolean {
    const { rows } = this.#dealt
    const at = this.#at * ROW_NUMBERS
    if (at === rows.length) return false
    const { keys, values } = this.#tree
    const pieces = this.#pieces
    const document = rows[at] as number
    const row = rows[at + 1] as number
    const key = this.#keyAt(row)
    this.#at++
    pieces.hasSameKey = key === this.#key
    this.#key = key
    pieces.keyStart = keys.starts[key] as number
    pieces.keyEnd = keys.starts[key + 1] as number
    pieces.valueStart = values.starts[row] as number
    pieces.valueEnd = values.starts[row + 1] as number
    pieces.idStart = this.#idStarts[document] as number
    pieces.idEnd = this.#idStarts[document + 1] as number
    pieces.document = this.#firstDocument + document
    return true
  }

  /** From the rank where that tells it: rows lie all over the table, and looking at each costs more than all else here. */
  #keyAt(row: number): number {
    const { rankEnds, keyOfRank } = this.#dealt
    if (rankEnds === undefined) return this.#tree.keyOf[row] as number
    while ((rankEnds[this.#rank] as number) <= this.#at) this.#rank++
    const key = keyOfRank[this.#rank] as number
    return key === SEVERAL ? (this.#tree.keyOf[row] as number) : key
  }
}

/**
 * The back references of all documents. A document without rows has one of no value, which says that what earlier runs
 * know of it is void.
 */
export class SortedReferences implements RowCursor {
  readonly #table: TableImage
  readonly #keyBytes: readonly Buffer[]
  readonly #pieces: RowPieces
  /** For each key of each tree the document that was last seen with it, and one more. */
  readonly #stamps: readonly Uint32Array[]
  readonly #writer = new ReferenceWriter()
  #at = 0

  constructor(table: TableImage, pieces: RowPieces) {
    this.#table = table
    this.#pieces = pieces
    this.#keyBytes = table.trees.map(({ keys }) => asBuffer(keys.bytes))
    this.#stamps = table.trees.map(({ keys }) => new Uint32Array(keys.starts.length - 1))
    pieces.keyStart = 0
    pieces.keyEnd = 0
    pieces.hasSameKey = false
    pieces.idBytes = asBuffer(table.ids.bytes)
  }

  next(): boolean {
    const { documents, trees, ids, firstDocument } = this.#table
    if (this.#at === documents.length) return false
    const pieces = this.#pieces
    const document = documents[this.#at++] as number
    const writer = this.#writer
    writer.beginDocument()
    for (let tree = 0; tree < trees.length; tree++) this.#addTree(tree, document)
    // A block looks back at the values of the rows before.
    pieces.valueBytes = writer.out.copy()
    pieces.valueStart = 0
    pieces.valueEnd = writer.out.length
    pieces.idStart = ids.starts[document] as number
    pieces.idEnd = ids.starts[document + 1] as number
    pieces.document = firstDocument + document
    return true
  }

  #addTree(tree: number, document: number): void {
    const { keys, keyOf, rowStarts } = this.#table.trees[tree] as TreeImage
    const stamps = this.#stamps[tree] as Uint32Array
    const bytes = this.#keyBytes[tree] as Buffer
    const start = rowStarts[document] as number
    const end = rowStarts[document + 1] as number
    if (start === end) return
    const stamp = document + 1
    let count = 0
    for (let row = start; row < end; row++) {
      const key = keyOf[row] as number
      if (stamps[key] === stamp) continue
      stamps[key] = stamp
      count++
    }
    this.#writer.beginTree(tree, count)
    for (let row = start; row < end; row++) {
      const key = keyOf[row] as number
      if (stamps[key] !== stamp) continue
      stamps[key] = 0
      this.#writer.addKey(bytes, keys.starts[key] as number, keys.starts[key + 1] as number)
    }
  }
}

const NO_KEY = 0xffff_ffff
const SEVERAL = 0xffff_fffe
