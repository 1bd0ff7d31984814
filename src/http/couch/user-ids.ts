/**
 * A user's documents may be asked for by either prefix of their ids: clients of the product know only their own. Where
 * there is none under the id that was asked for but one under its twin, that one is meant; the answer carries the id it
 * is stored under, so that whoever writes it back writes the same document.
 */
import { isFailure } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { applicationDatabase } from '../../base/product-names.ts'
import { twinUserId } from '../../core/auth/users-database.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { Exchange } from './exchange.ts'

/** @param read fails with `document_missing` where there is none; of two failures the first is told */
export function readByEitherId<T>(
  exchange: Exchange,
  id: string,
  read: (id: string) => MaybePromise<T>,
): MaybePromise<T> {
  const mayHaveTwin = id.startsWith('org.') && holdsUsers(exchange)
  const twin = mayHaveTwin ? twinUserId(id) : undefined
  return twin === undefined ? read(id) : readEither(id, twin, read)
}

async function readEither<T>(
  id: string,
  twin: string,
  read: (id: string) => MaybePromise<T>,
): Promise<T> {
  try {
    return await read(id)
  } catch (thrown) {
    if (!isFailure(thrown, 'document_missing')) throw thrown
    try {
      return await read(twin)
    } catch (again) {
      throw isFailure(again) ? thrown : again
    }
  }
}

/** One for each, in order. */
export async function storedUserIds<Id extends string | undefined>(
  exchange: Exchange,
  ids: readonly Id[],
): Promise<Id[]> {
  const twins = new Map<string, string>()
  for (const id of ids) {
    const twin = id === undefined ? undefined : twinUserId(id)
    if (id !== undefined && twin !== undefined) twins.set(id, twin)
  }
  if (twins.size === 0 || !holdsUsers(exchange)) return [...ids]
  const there = await existing(exchange, [...twins].flat())
  return ids.map(id => {
    const twin = id === undefined ? undefined : twins.get(id)
    const isTwinMeant = twin !== undefined && !there.has(id as string) && there.has(twin)
    return isTwinMeant ? (twin as Id) : id
  })
}

const holdsUsers = ({ database, server }: Exchange): boolean =>
  database.name === applicationDatabase() ||
  database.name === server.configuration.get(SETTINGS.authenticationDb)

/** Looked up together, as the list that follows does: whoever may not list is refused here already. */
async function existing({ database }: Exchange, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await database.listNamedDocuments('all', ids)
  const there = new Set<string>()
  let next = 0
  for await (const batch of rows) {
    for (const row of batch) {
      const id = ids[next++]
      if (row !== undefined && !row.deleted && id !== undefined) there.add(id)
    }
  }
  return there
}
