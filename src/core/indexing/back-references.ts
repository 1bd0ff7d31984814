/**
 * Back references: which rows a document has in an index, so that they can be found and taken out
 * when it changes. They are rows of a tree of their own, sorted by document id.
 *
 * Format of a value: for each tree in which the document has rows its number, how many different
 * keys, and these keys: how many bytes a key has in common with the one before (times two) or with
 * the one before that (times two, and one more), how many it has of its own, and those. Maps often
 * emit two forms by turns, hence the second. The key and the id give the place; all rows there are
 * the document's.
 */
import { KeyWriter } from '../../base/collate/key-writer.ts'
import { appendVarint, ByteReader } from './byte-codec.ts'
import type { DocumentRows, EmittedRow } from './index-rows.ts'

export interface BackReference {
  readonly tree: number
  readonly keyText: Buffer
}

/** Writes the references of one document after the other; `out` is what was written. */
export class ReferenceWriter {
  readonly out = new KeyWriter(1024)
  #one: KeyPart = { bytes: NOTHING, start: 0, end: 0 }
  #two: KeyPart = { bytes: NOTHING, start: 0, end: 0 }

  beginDocument(): void {
    this.out.reset()
    this.#one.end = this.#one.start
    this.#two.end = this.#two.start
  }

  beginTree(tree: number, keyCount: number): void {
    appendVarint(this.out, tree)
    appendVarint(this.out, keyCount)
  }

  /** Adds the key bytes[start, end), which must stay as they are until two more have come. */
  addKey(bytes: Buffer, start: number, end: number): void {
    const one = this.#one
    const two = this.#two
    const nearer = sharedLength(one, bytes, start, end)
    const farther = sharedLength(two, bytes, start, end)
    const shared = Math.max(nearer, farther)
    appendVarint(this.out, shared * 2 + (farther > nearer ? 1 : 0))
    appendVarint(this.out, end - start - shared)
    this.out.append(bytes, start + shared, end)
    two.bytes = bytes
    two.start = start
    two.end = end
    this.#one = two
    this.#two = one
  }
}

interface KeyPart {
  bytes: Buffer
  start: number
  end: number
}

function sharedLength(part: KeyPart, bytes: Buffer, start: number, end: number): number {
  const { bytes: own, start: from } = part
  const most = Math.min(end - start, part.end - from)
  let same = 0
  while (same < most && own[from + same] === bytes[start + same]) same++
  return same
}

/** Undefined when the document has no rows. */
export function encodeBackReferences(document: DocumentRows): Buffer | undefined {
  WRITER.beginDocument()
  document.rows.forEach((rows, tree) => {
    if (rows.length === 0) return
    const keys = differentKeys(rows)
    WRITER.beginTree(tree, keys.length)
    for (const key of keys) WRITER.addKey(key, 0, key.length)
  })
  return WRITER.out.length === 0 ? undefined : WRITER.out.copy()
}

export function decodeBackReferences(value: Buffer): BackReference[] {
  const found: BackReference[] = []
  const reader = new ByteReader(value)
  let one: Buffer = NOTHING
  let two: Buffer = NOTHING
  while (!reader.isDone) {
    const tree = reader.varint()
    for (let left = reader.varint(); left > 0; left--) {
      const code = reader.varint()
      const shared = (code % 2 === 1 ? two : one).subarray(0, Math.floor(code / 2))
      const keyText = Buffer.concat([shared, reader.blob()])
      found.push({ tree, keyText })
      two = one
      one = keyText
    }
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

const NOTHING = Buffer.alloc(0)
const WRITER = new ReferenceWriter()
