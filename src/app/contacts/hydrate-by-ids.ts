/** Hydrated documents by their ids: one answer for each, in order, also for those that repeat or are not there. */
import type { ApplicationContext } from '../application-context.ts'
import type { JsonObject } from '../documents/document.ts'
import { hydrateMany, hydrateOne } from './hydrate.ts'

export type HydratedItem =
  | { readonly id: unknown; readonly doc: JsonObject }
  | { readonly id: unknown; readonly error: 'not_found' }

export async function hydrateByIds(
  context: ApplicationContext,
  ids: readonly unknown[],
): Promise<HydratedItem[]> {
  const found = await context.data.getMap(
    ids.filter(id => typeof id === 'string' && id !== '') as string[],
  )
  const documents = [...found.values()]
  const [only] = documents
  const hydrated =
    ids.length === 1 && only !== undefined
      ? [await hydrateOne(context, only)]
      : await hydrateMany(context, documents)
  const byId = new Map(documents.map(({ _id }, index) => [_id, hydrated[index] as JsonObject]))
  return ids.map(id => {
    const doc = byId.get(id as string)
    return doc === undefined ? { id, error: 'not_found' } : { id, doc }
  })
}
