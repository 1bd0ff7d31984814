/** What a database keeps of attachments, looked at beneath the server. */
import { CONTENTS, PROPERTIES, UPLOADS } from '../../src/core/database/keyspace.ts'
import type { Engine, Range, Store } from '../../src/engine/engine.ts'

export interface AttachmentRows {
  readonly contents: number
  readonly chunks: number
  readonly uploads: number
}

const CHUNKS: Range = { start: Buffer.of(0x15), end: Buffer.of(0x16) }

/** The store of the only database there is. */
export async function onlyDatabase(engine: Engine): Promise<Store> {
  const found: Store[] = []
  for (const id of await engine.listStores()) {
    const store = engine.store(id)
    if ((await store.get(PROPERTIES)) !== undefined) found.push(store)
  }
  const [only] = found
  if (only === undefined || found.length !== 1) throw new Error(`${found.length} databases`)
  return only
}

export async function attachmentRows(store: Store): Promise<AttachmentRows> {
  const [contents, chunks, uploads] = await Promise.all(
    [CONTENTS, CHUNKS, UPLOADS].map(range => countRows(store, range)),
  )
  return { contents: contents ?? 0, chunks: chunks ?? 0, uploads: uploads ?? 0 }
}

async function countRows(store: Store, range: Range): Promise<number> {
  let count = 0
  for await (const rows of store.scan(range, { keysOnly: true })) count += rows.length
  return count
}
