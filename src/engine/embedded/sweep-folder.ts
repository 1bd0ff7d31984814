/**
 * Clears what crashed processes left in a data folder. Only for the process that holds the folder's
 * lock, before others use the folder: it takes every unfinished claim for void.
 *
 * A file that the catalog does not name is removed only when nothing can be lost: it is incomplete,
 * empty, moved, deleted, or the unfinished copy of a compaction. Any other is left alone. If the
 * catalog itself is gone (it is new, yet there are files of stores), it is made anew from the
 * files.
 */
import { readdir } from 'node:fs/promises'
import type { StoreId } from '../engine.ts'
import { EVERY_KEY } from './embedded-limits.ts'
import { clearJournal } from './journal.ts'
import { LmdbEnvironment } from './lmdb-environment.ts'
import { type CatalogRow, liveRow, type StoreCatalog } from './store-catalog.ts'
import {
  fileBytes,
  parseStoreFile,
  removeStoreFile,
  type StoreFile,
  storePath,
} from './store-files.ts'
import { finishDeletion } from './store-lifecycle.ts'
import { decodeState, encodeState, LIVE, STATE_KEY, type StoreState } from './store-state.ts'

export async function sweepFolder(folder: string, catalog: StoreCatalog): Promise<void> {
  const files = (await readdir(folder)).flatMap(name => parseStoreFile(name) ?? [])
  if (catalog.isNew() && files.length > 0) await rebuildCatalog(folder, catalog, files)
  for (const [id, row] of catalog.list()) {
    if (row.deleting) await finishDeletion(folder, catalog, id)
    else if (row.compactingTo !== 0) await endCompaction(folder, catalog, id, row)
  }
  const named = new Map(catalog.list().map(([id, row]) => [id, row.generation]))
  for (const file of files) {
    if (named.get(file.id) !== file.generation) await removeIfWorthless(folder, file)
  }
}

/**
 * A complete file that has not moved or been deleted is its store; a copy that was never moved to
 * is not.
 */
async function rebuildCatalog(
  folder: string,
  catalog: StoreCatalog,
  files: readonly StoreFile[],
): Promise<void> {
  await catalog.skipGenerations(Math.max(...files.map(file => file.generation)))
  const unfinished = new Set<number>()
  const serving: StoreFile[] = []
  for (const file of files) {
    const found = await settle(storePath(folder, file.id, file.generation))
    if (found?.state.kind === 'journaling') unfinished.add(found.state.generation)
    if (found !== undefined && isServing(found.state)) serving.push(file)
  }
  for (const { id, generation } of serving.sort((a, b) => a.generation - b.generation)) {
    if (!unfinished.has(generation)) await catalog.update(id, () => liveRow(generation))
  }
  for (const { id, generation } of serving) {
    if (unfinished.has(generation)) await removeStoreFile(storePath(folder, id, generation))
  }
}

/** The old file knows which generation is right: it has moved or it has not. */
async function endCompaction(
  folder: string,
  catalog: StoreCatalog,
  id: StoreId,
  row: CatalogRow,
): Promise<void> {
  const found = await settle(storePath(folder, id, row.generation))
  const moved = found?.state.kind === 'moved'
  await catalog.update(id, () => liveRow(moved ? row.compactingTo : row.generation))
  await removeStoreFile(storePath(folder, id, moved ? row.generation : row.compactingTo))
}

async function removeIfWorthless(folder: string, file: StoreFile): Promise<void> {
  const path = storePath(folder, file.id, file.generation)
  const found = await settle(path)
  if (found !== undefined && isServing(found.state) && found.hasRows) return
  await removeStoreFile(path)
}

const isServing = (state: StoreState): boolean =>
  state.kind === 'live' || state.kind === 'journaling'

/**
 * The state a file was found in; its journal, if there was one, is ended. `undefined` for missing
 * or incomplete.
 */
async function settle(file: string): Promise<{ state: StoreState; hasRows: boolean } | undefined> {
  if ((await fileBytes(file)) === undefined) return undefined
  const environment = new LmdbEnvironment(file)
  try {
    return await environment.write(writer => {
      const bytes = writer.get(STATE_KEY)
      if (bytes === undefined) return undefined
      const state = decodeState(bytes, file)
      if (state.kind === 'journaling') {
        writer.put(STATE_KEY, encodeState(LIVE))
        clearJournal(writer, Number.MAX_SAFE_INTEGER)
      }
      const hasRows = writer.scan(EVERY_KEY, { limit: 1, keysOnly: true }).length > 0
      return { state, hasRows }
    })
  } finally {
    await environment.close()
  }
}
