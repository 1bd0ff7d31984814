/**
 * The rows that a batch of documents makes, in one piece of bytes with a table of where things are. A first build has
 * millions of rows: an object for each of them, or a buffer for each key, would cost more than all its other work.
 *
 * Whoever works document by document takes `documentRows`.
 */
import { KeyWriter } from '../../base/collate/key-writer.ts'
import type { DocumentRows, EmittedRow } from './index-rows.ts'
import { NumberList } from './number-list.ts'

export interface MappedRows {
  readonly ids: readonly string[]
  readonly treeCount: number
  readonly bytes: Buffer
  /** For each document and in it for each tree: how many rows there are up to here. */
  readonly rowEnds: Uint32Array
  /** Four numbers a row: where its key begins and ends in `bytes`, and where its value does. */
  readonly places: Uint32Array
}

export const PLACES_PER_ROW = 4

export function documentRows(mapped: MappedRows): DocumentRows[] {
  const { ids, treeCount, rowEnds } = mapped
  let row = 0
  return ids.map((id, document) => ({
    id,
    rows: Array.from({ length: treeCount }, (_, tree) => {
      const rows: EmittedRow[] = []
      const end = rowEnds[document * treeCount + tree] as number
      for (; row < end; row++) rows.push(emittedRow(mapped, row))
      return rows
    }),
  }))
}

function emittedRow({ bytes, places }: MappedRows, row: number): EmittedRow {
  const at = row * PLACES_PER_ROW
  return {
    keyText: bytes.subarray(places[at], places[at + 1]),
    valueText: bytes.subarray(places[at + 2], places[at + 3]),
  }
}

/** The other way round, for kinds that make rows one by one. */
export function packRows(documents: readonly DocumentRows[], treeCount: number): MappedRows {
  const out = new KeyWriter()
  const rowEnds = new Uint32Array(documents.length * treeCount)
  const places = new NumberList()
  documents.forEach(({ rows }, document) => {
    for (let tree = 0; tree < treeCount; tree++) {
      for (const { keyText, valueText } of rows[tree] ?? []) {
        places.push(out.length)
        out.append(keyText)
        places.push(out.length)
        places.push(out.length)
        out.append(valueText)
        places.push(out.length)
      }
      rowEnds[document * treeCount + tree] = places.length / PLACES_PER_ROW
    }
  })
  const ids = documents.map(({ id }) => id)
  const bytes = out.bytes.subarray(0, out.length)
  return { ids, treeCount, bytes, rowEnds, places: places.taken() }
}
