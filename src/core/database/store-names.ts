/**
 * Names of stores. A database has one of its own, and so has every index of it; the name of an index says which database
 * it belongs to and what it holds, so nobody needs a list of indexes that could be wrong:
 *
 *   db-<24 hex>               a database
 *   ix-<24 hex>-<32 hex>      an index of that database, by the signature of its definition
 *   is-<24 hex>-<32 hex>      what the first build of that index sorts; goes when the build ends
 */
import { randomBytes } from 'node:crypto'
import type { StoreId } from '../../engine/engine.ts'

const DATABASE = 'db-'
const INDEX = 'ix-'
const SCRATCH = 'is-'

export const newDatabaseStoreId = (): StoreId => DATABASE + randomBytes(12).toString('hex')

export const isDatabaseStoreId = (id: StoreId): boolean => id.startsWith(DATABASE)

/** @param signature 32 hex digits */
export const indexStoreId = (databaseId: StoreId, signature: string): StoreId =>
  `${INDEX}${databaseId.slice(DATABASE.length)}-${signature}`

export const scratchStoreId = (databaseId: StoreId, signature: string): StoreId =>
  `${SCRATCH}${databaseId.slice(DATABASE.length)}-${signature}`

/** Of an index or what belongs to one; undefined for any other store. */
export function readIndexStoreId(
  id: StoreId,
): { readonly databaseId: StoreId; readonly signature: string } | undefined {
  if (!id.startsWith(INDEX) && !id.startsWith(SCRATCH)) return undefined
  const [, owner = '', signature = ''] = id.split('-')
  return { databaseId: DATABASE + owner, signature }
}
