/**
 * Local documents: kept beside the others, never replicated, listed or counted. Their revision is a plain counter,
 * `0-N`, and nothing guards it: the last writer wins, as in CouchDB. Replicators keep their checkpoints here, so
 * writing one is a single small commit.
 *
 *   value: varint N, then the JSON object text without special members
 */
import { ByteReader, ByteWriter } from '../../base/bytes.ts'
import { Failure } from '../../base/errors.ts'
import type { Store } from '../../engine/engine.ts'
import { localKey } from './keyspace.ts'

export interface LocalDocument {
  /** With its `_local/` in front. */
  readonly id: string
  readonly generation: number
  readonly body: Buffer
}

export interface LocalEdit {
  readonly id: string
  /** The generation the writer has seen; undefined when it gave none. */
  readonly generation: number | undefined
  /** Undefined deletes. */
  readonly body: Buffer | undefined
}

export async function readLocalDocument(
  store: Store,
  id: string,
): Promise<LocalDocument | undefined> {
  const bytes = await store.get(localKey(id))
  return bytes === undefined ? undefined : decodeLocal(id, bytes)
}

/** Answers the new generation; 0 after a deletion. */
export function writeLocalDocument(store: Store, edit: LocalEdit): Promise<number> {
  const key = localKey(edit.id)
  return store.write(function* (tx) {
    const bytes = yield* tx.get(key)
    if (edit.body === undefined && bytes === undefined) {
      throw new Failure('document_missing', { subject: edit.id, reason: 'missing' })
    }
    if (edit.body === undefined) {
      tx.delete(key)
      return 0
    }
    const generation = (edit.generation ?? 0) + 1
    tx.put(key, encodeLocal(generation, edit.body))
    return generation
  })
}

export function decodeLocal(id: string, bytes: Buffer): LocalDocument {
  const reader = new ByteReader(bytes)
  return { id, generation: reader.varint(), body: reader.rest() }
}

const encodeLocal = (generation: number, body: Buffer): Buffer =>
  new ByteWriter(16 + body.length).varint(generation).bytes(body).finish()
