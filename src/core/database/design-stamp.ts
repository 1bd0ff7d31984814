/**
 * The stamp of a database's design documents: one small value that every commit which touches one of them rewrites
 * with its sequence. Whoever keeps parsed design documents compares it: equal stamps mean equal design documents, in
 * every process, at the cost of one read. A database that never had a design document has no stamp.
 */
import type { ReadTx, Steps, WriteTx } from '../../engine/engine.ts'
import { DESIGN_STAMP, documentsBetween, idOfKey } from './keyspace.ts'
import { decodeDocument, type StoredDocument } from './stored-document.ts'

export const isDesignId = (id: string): boolean => id.startsWith('_design/')

/** @param seq of the commit that touched a design document: it grows, so no stamp comes twice */
export const putDesignStamp = (tx: WriteTx, seq: number): void =>
  tx.put(DESIGN_STAMP, Buffer.from(String(seq)))

export interface StampedDesigns {
  readonly stamp: Buffer | undefined
  /** Those that are not deleted, by id. */
  readonly documents: readonly StoredDocument[]
}

/** All design documents of one state of the database, with its stamp. */
export function* readDesigns(tx: ReadTx): Steps<StampedDesigns> {
  const stamp = yield* tx.get(DESIGN_STAMP)
  const documents: StoredDocument[] = []
  if (stamp === undefined) return { stamp, documents }
  let rest = documentsBetween(Buffer.from('_design/'), Buffer.from('_design0'))
  for (;;) {
    const rows = yield* tx.scan(rest, { limit: 200, bytesMax: 4 * 1024 * 1024 })
    for (const { key, value } of rows) {
      const document = decodeDocument(value, idOfKey(key))
      if (!document.deleted) documents.push(document)
    }
    const last = rows.at(-1)
    if (last === undefined) return { stamp, documents }
    rest = { start: Buffer.concat([last.key, Buffer.of(0)]), end: rest.end }
  }
}
