/**
 * The rows of a first build in memory: for each tree its different keys (key-table.ts) and for each row the number of
 * its key and its value. It only takes rows in; `sorted-table.ts` puts them in order, perhaps in
 * another thread, which is why all of it lies in shared memory.
 *
 * A document that comes more than once counts as it came last. Numbers of documents grow over the whole build; those
 * here begin at `firstDocument`.
 */

import { type MappedRows, PLACES_PER_ROW } from '../mapped-rows.ts'
import { NumberList } from '../number-list.ts'
import { KeyTable } from './key-table.ts'
import { documentsById, type TableImage, type TreeImage } from './sorted-table.ts'
import { TextList } from './text-list.ts'

/** The rows of one tree. */
class TreeRows {
  readonly keys = new KeyTable()
  readonly keyOf = new NumberList(64, true)
  readonly values = new TextList()
  readonly rowStarts = new NumberList(64, true)

  constructor() {
    this.rowStarts.push(0)
  }

  get byteLength(): number {
    const { keys, keyOf, values, rowStarts } = this
    return keys.byteLength + keyOf.length * 16 + values.out.length + rowStarts.length * 4
  }

  /** Adds the rows [row, end) of a batch, which are those of one document. */
  add({ bytes, places }: MappedRows, row: number, end: number): void {
    const { keys, keyOf, values, rowStarts } = this
    keyOf.reserve(end - row)
    values.starts.reserve(end - row)
    let to = keyOf.length
    for (let at = row * PLACES_PER_ROW; at < end * PLACES_PER_ROW; at += PLACES_PER_ROW) {
      keyOf.values[to++] = keys.numberOf(bytes, places[at] as number, places[at + 1] as number)
      values.addPart(bytes, places[at + 2] as number, places[at + 3] as number)
    }
    keyOf.length = to
    rowStarts.push(to)
  }

  clear(): void {
    this.keys.clear()
    for (const list of [this.keyOf, this.rowStarts]) list.clear()
    this.values.clear()
    this.rowStarts.push(0)
  }

  image(): TreeImage {
    const { keys, keyOf, values, rowStarts } = this
    return {
      keys: keys.image(),
      keyOf: keyOf.taken(),
      values: values.image(),
      rowStarts: rowStarts.taken(),
    }
  }
}

export class RowTable {
  readonly #rows: readonly TreeRows[]
  readonly #ids = new TextList()
  readonly #idTexts = new TextList()
  #firstDocument: number

  /** `treeCount`: of those of the rows, without the one of the back references. */
  constructor(treeCount: number, firstDocument: number) {
    this.#rows = Array.from({ length: treeCount }, () => new TreeRows())
    this.#firstDocument = firstDocument
  }

  get documentCount(): number {
    return this.#ids.count
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
      this.#addId(ids[document] as string)
      for (let tree = 0; tree < treeCount; tree++) {
        const end = rowEnds[document * treeCount + tree] as number
        this.#rows[tree]?.add(mapped, row, end)
        row = end
      }
    }
  }

  /** A document that has no rows, or none any more. */
  addRowless(id: string): void {
    this.#addId(id)
    for (const { keyOf, rowStarts } of this.#rows) rowStarts.push(keyOf.length)
  }

  clear(): void {
    this.#firstDocument = this.nextDocument
    for (const rows of this.#rows) rows.clear()
    this.#ids.clear()
    this.#idTexts.clear()
  }

  image(): TableImage {
    const ids = this.#ids.image()
    return {
      ids,
      idTexts: this.#idTexts.image(),
      firstDocument: this.#firstDocument,
      documents: documentsById(ids),
      trees: this.#rows.map(rows => rows.image()),
    }
  }

  #addId(id: string): void {
    this.#ids.add(id)
    this.#idTexts.add(JSON.stringify(id))
  }
}
