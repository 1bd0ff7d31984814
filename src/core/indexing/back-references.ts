/**
 * Back references: which rows a document has in an index, so that they can be found and taken out
 * when it changes. They are rows of a tree of their own, sorted by document id, and compress as
 * well as the rows they point to.
 *
 * Format of a value: for each tree in which the document has rows its number, how many different
 * keys, and the texts of these keys (length, bytes). The key and the id give the place; all rows
 * there are the document's.
 */
import { KeyWriter } from '../../base/collate/key-writer.ts'
import { appendBlob, appendVarint, ByteReader } from './byte-codec.ts'
import type { DocumentRows, EmittedRow } from './index-rows.ts'

export interface BackReference {
  readonly tree: number
  readonly keyText: Buffer
}

/** Undefined when the document has no rows. */
export function encodeBackReferences(document: DocumentRows): Buffer | undefined {
  SCRATCH.reset()
  document.rows.forEach((rows, tree) => {
    if (rows.length === 0) return
    const keys = differentKeys(rows)
    appendVarint(SCRATCH, tree)
    appendVarint(SCRATCH, keys.length)
    for (const key of keys) appendBlob(SCRATCH, key)
  })
  return SCRATCH.length === 0 ? undefined : SCRATCH.copy()
}

export function decodeBackReferences(value: Buffer): BackReference[] {
  const found: BackReference[] = []
  const reader = new ByteReader(value)
  while (!reader.isDone) {
    const tree = reader.varint()
    for (let left = reader.varint(); left > 0; left--) found.push({ tree, keyText: reader.blob() })
  }
  return found
}

function differentKeys(rows: readonly EmittedRow[]): Buffer[] {
  const first = rows[0]
  if (first !== undefined && rows.length === 1) return [first.keyText]
  const seen = new Map<string, Buffer>()
  for (const { keyText } of rows) seen.set(keyText.toString('latin1'), keyText)
  return [...seen.values()]
}

const SCRATCH = new KeyWriter()
