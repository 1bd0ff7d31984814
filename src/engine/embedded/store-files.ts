/**
 * Names and lives of the files in a data folder. `<store>.<generation>.mdb` holds a store, the same
 * name with `-lock` is LMDB's lock file. Generations are given out by the catalog and never used
 * twice, so a path never changes its meaning: a process that still has an old file open cannot
 * share a lock file with a new one.
 */
import { constants } from 'node:fs'
import fs from 'node:fs/promises'
import path from 'node:path'
import type { StoreId } from '../engine.ts'
import { isMissingFile, storageFailure } from './storage-errors.ts'

export interface StoreFile {
  readonly id: StoreId
  readonly generation: number
}

export const CATALOG_FILE = 'catalog.mdb'

export const storePath = (folder: string, id: StoreId, generation: number): string =>
  path.join(folder, `${id}.${generation}.mdb`)

/** The store a file name belongs to; `undefined` for names that are not ours. */
export function parseStoreFile(name: string): StoreFile | undefined {
  const match = /^([a-z0-9_-]{1,64})\.([1-9][0-9]{0,14})\.mdb$/.exec(name)
  return match === null ? undefined : { id: match[1] as string, generation: Number(match[2]) }
}

/** Bytes on disk, or `undefined` when there is no such file. */
export async function fileBytes(file: string): Promise<number | undefined> {
  try {
    return (await fs.stat(file)).size
  } catch (error) {
    if (isMissingFile(error)) return undefined
    throw storageFailure(error, file)
  }
}

/** Removes a store's file and its lock file. Nothing happens when they are gone already. */
export async function removeStoreFile(file: string): Promise<void> {
  try {
    await fs.rm(`${file}-lock`, { force: true })
    await fs.rm(file, { force: true })
  } catch (error) {
    throw storageFailure(error, file)
  }
}

/**
 * Makes new and removed names in a folder durable. LMDB syncs what is in a file, not that the file
 * is there.
 */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await fs.open(folder, constants.O_RDONLY)
  try {
    await handle.sync()
  } catch (error) {
    // Some file systems cannot sync a folder and need not.
    if ((error as { code?: unknown }).code !== 'EINVAL') throw storageFailure(error, folder)
  } finally {
    await handle.close()
  }
}
