/**
 * Local documents: kept beside the others, never replicated, listed or counted. Their revision is a plain counter,
 * `0-N`, and nothing guards it: the last writer wins, as in CouchDB. Replicators keep their checkpoints here, so
 * writing one is a single small commit.
 *
 *   value: varint N, the id if it is too long to be in the key, then the JSON object text without special members
 */
import { ByteReader, ByteWriter } from '../../base/bytes.ts'
import { Failure } from '../../base/errors.ts'
import type { Store } from '../../engine/engine.ts'
import { ID_BYTES_MAX, localKey } from './keyspace.ts'

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
    tx.put(key, encodeLocal(edit.id, generation, edit.body))
    return generation
  })
}

export function decodeLocal(id: string, bytes: Buffer): LocalDocument {
  const reader = new ByteReader(bytes)
  const generation = reader.varint()
  if (isLong(id)) reader.run()
  return { id, generation, body: reader.rest() }
}

/** The id that a value carries because its key is too short for it. */
export function longIdOfLocal(bytes: Buffer): Buffer {
  const reader = new ByteReader(bytes)
  reader.varint()
  return reader.run()
}

function encodeLocal(id: string, generation: number, body: Buffer): Buffer {
  const writer = new ByteWriter(16 + body.length).varint(generation)
  if (isLong(id)) writer.text(id)
  return writer.bytes(body).finish()
}

const isLong = (id: string): boolean =>
  id.length > ID_BYTES_MAX / 3 && Buffer.byteLength(id) > ID_BYTES_MAX
