/**
 * The first and the last steps in the life of a store's file. Both can be cut off anywhere by a
 * crash: a file that the catalog does not name is a leftover, and a deletion that has begun is
 * finished by whoever meets it next.
 */
import type { StoreId } from '../engine.ts'
import { LmdbEnvironment } from './lmdb-environment.ts'
import type { StoreCatalog } from './store-catalog.ts'
import { fileBytes, removeStoreFile, storePath } from './store-files.ts'
import {
  DELETED,
  decodeState,
  encodeState,
  LIVE,
  STATE_KEY,
  type StoreState,
} from './store-state.ts'

/** Makes the file of an empty store, durably but for its name in the folder. */
export async function createStoreFile(file: string): Promise<void> {
  const environment = new LmdbEnvironment(file)
  try {
    await environment.write(writer => writer.put(STATE_KEY, encodeState(LIVE)))
  } finally {
    await environment.close()
  }
}

/**
 * Ends a store whose catalog row says 'deleting': marks its file, so that processes that have it
 * open stop using it, takes it out of the catalog, removes its files. The file must not be open in
 * this process.
 */
export async function finishDeletion(
  folder: string,
  catalog: StoreCatalog,
  id: StoreId,
): Promise<void> {
  const row = catalog.get(id)
  if (row?.deleting !== true) return
  const files = new Set([row.generation, row.compactingTo].filter(generation => generation > 0))
  let generation: number | undefined = row.generation
  while (generation !== undefined) {
    files.add(generation)
    const state = await markDeleted(storePath(folder, id, generation))
    generation = state?.kind === 'moved' ? state.generation : undefined
  }
  await catalog.update(id, present =>
    present?.deleting === true && present.generation === row.generation ? undefined : present,
  )
  for (const each of files) await removeStoreFile(storePath(folder, id, each))
}

/**
 * Resolves to the state before; a file that has moved keeps saying so, for its successor has to be
 * marked.
 */
async function markDeleted(file: string): Promise<StoreState | undefined> {
  if ((await fileBytes(file)) === undefined) return undefined
  const environment = new LmdbEnvironment(file)
  try {
    return await environment.write(writer => {
      const bytes = writer.get(STATE_KEY)
      const state = bytes === undefined ? undefined : decodeState(bytes, file)
      if (state?.kind !== 'moved') writer.put(STATE_KEY, encodeState(DELETED))
      return state
    })
  } finally {
    await environment.close()
  }
}
