/**
 * Keeps two servers from using one data folder. Taken by the primary process of a server, not by
 * its children.
 *
 * The lock is flock(2) on the file `LOCK`, called in the C library that Node itself is linked to:
 * it ends with the process, however that ends. Where it cannot be had (no such function, or a file
 * system without it), a file with the process id stands in; after a crash it is taken over once no
 * process has that id. The id in the file is for messages otherwise.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Failure } from '../../base/errors.ts'
import { storageFailure } from './storage-errors.ts'

export interface DataFolderLock {
  /** `flock` dies with the process, `pid-file` may stay behind. */
  readonly kind: 'flock' | 'pid-file'
  release(): void
}

/**
 * Fails with `storage_locked` when another process holds the folder; its id, if known, is in
 * `detail.pid`.
 */
export async function lockDataFolder(
  folder: string,
  loadFlock: () => Promise<Flock | undefined> = flockOfLibc,
): Promise<DataFolderLock> {
  const flock = await loadFlock()
  return (flock && flockFolder(folder, flock)) ?? pidFileLock(folder)
}

/** Resolves to 0, or to the number of the error. */
export type Flock = (fd: number, operation: number) => number

const LOCK_EXCLUSIVE_NOW = 2 | 4
const TAKE_OVER_ATTEMPTS = 3

async function flockOfLibc(): Promise<Flock | undefined> {
  try {
    const { default: koffi } = await import('koffi')
    const call = koffi.load(null).func('int flock(int fd, int operation)')
    return (fd, operation) => (call(fd, operation) === 0 ? 0 : koffi.errno())
  } catch {
    // No such library or function on this platform: the caller has another way.
    return undefined
  }
}

/** `undefined` when the file system does not know how. */
function flockFolder(folder: string, flock: Flock): DataFolderLock | undefined {
  const file = path.join(folder, 'LOCK')
  const fd = opened(file, 'a+')
  const error = flock(fd, LOCK_EXCLUSIVE_NOW)
  if (error === 0) {
    fs.ftruncateSync(fd, 0)
    fs.writeSync(fd, `${process.pid}\n`)
    return { kind: 'flock', release: () => fs.closeSync(fd) }
  }
  fs.closeSync(fd)
  if (error === os.constants.errno.EWOULDBLOCK) throw lockedFailure(folder, readPid(file))
  return undefined
}

function pidFileLock(folder: string): DataFolderLock {
  const file = path.join(folder, 'LOCK.pid')
  for (let attempt = 0; attempt < TAKE_OVER_ATTEMPTS; attempt++) {
    if (createPidFile(file)) {
      return { kind: 'pid-file', release: () => fs.rmSync(file, { force: true }) }
    }
    const pid = readPid(file)
    if (pid !== undefined && pid !== process.pid && isRunning(pid)) throw lockedFailure(folder, pid)
    fs.rmSync(file, { force: true })
  }
  throw lockedFailure(folder, readPid(file))
}

function createPidFile(file: string): boolean {
  try {
    fs.writeFileSync(file, `${process.pid}\n`, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code === 'EEXIST') return false
    throw storageFailure(error, file)
  }
}

function opened(file: string, flags: string): number {
  try {
    return fs.openSync(file, flags)
  } catch (error) {
    throw storageFailure(error, file)
  }
}

function readPid(file: string): number | undefined {
  try {
    const pid = Number(fs.readFileSync(file, 'utf8').trim())
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as { code?: unknown }).code === 'EPERM'
  }
}

const lockedFailure = (folder: string, pid: number | undefined): Failure =>
  new Failure('storage_locked', {
    subject: folder,
    ...(pid === undefined ? {} : { pid }),
    reason: `another server${pid === undefined ? '' : ` (process ${pid})`} uses this data folder`,
  })
