/**
 * Turns what LMDB and the file system throw into Failures with one-line reasons. The original error
 * stays as the cause.
 */
import { statfsSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Failure, type FailureCode, isFailure } from '../../base/errors.ts'

const { errno } = os.constants

const BY_CODE = new Map<number, FailureCode>([
  [errno.ENOSPC, 'storage_full'],
  [errno.EDQUOT, 'storage_full'],
  [errno.EFBIG, 'storage_full'],
  [errno.EACCES, 'storage_unwritable'],
  [errno.EPERM, 'storage_unwritable'],
  [errno.EROFS, 'storage_unwritable'],
  [errno.EIO, 'storage_unwritable'],
  [errno.ENOMEM, 'engine_busy'],
  [errno.EMFILE, 'engine_busy'],
  [errno.ENFILE, 'engine_busy'],
  [errno.EAGAIN, 'engine_busy'],
  [-30797, 'storage_corrupt'], // MDB_PAGE_NOTFOUND
  [-30796, 'storage_corrupt'], // MDB_CORRUPTED
  [-30795, 'storage_unwritable'], // MDB_PANIC: the meta page could not be written
  [-30794, 'storage_corrupt'], // MDB_VERSION_MISMATCH
  [-30793, 'storage_corrupt'], // MDB_INVALID
  [-30792, 'storage_full'], // MDB_MAP_FULL
  [-30790, 'engine_busy'], // MDB_READERS_FULL
  [-30788, 'engine_busy'], // MDB_TXN_FULL
  [-30778, 'storage_corrupt'], // MDB_BAD_CHECKSUM and its kin
])

/** `subject` is the file or folder; an error that is a Failure already passes through. */
export function storageFailure(thrown: unknown, subject: string): Failure {
  if (isFailure(thrown)) return thrown
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const code = BY_CODE.get(codeNumber(error)) ?? 'unexpected'
  return new Failure(code, { subject, reason: oneLine(error.message) }, error)
}

/** Less than this is taken for a full disk when a write came out short. */
const FREE_BYTES_MIN = 16 * 1024 * 1024

/**
 * For failed commits. LMDB reports a write that came out short as an input/output error; mostly
 * that is the last write before a disk is full, so the room that is left decides.
 */
export function commitFailure(
  thrown: unknown,
  file: string,
  freeBytes: (folder: string) => number = freeBytesOf,
): Failure {
  const failure = storageFailure(thrown, file)
  if (!(thrown instanceof Error) || codeNumber(thrown) !== errno.EIO) return failure
  if (freeBytes(path.dirname(file)) >= FREE_BYTES_MIN) return failure
  return new Failure('storage_full', { subject: file, reason: 'a write came out short' }, thrown)
}

function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/**
 * The number LMDB gave, or the one behind a name such as `ENOSPC` from `node:fs`; 0 when there is
 * none.
 */
function codeNumber(error: Error): number {
  const code = (error as { code?: unknown }).code
  if (typeof code === 'number') return code > -30000 && code < 0 ? -code : code
  if (typeof code !== 'string') return 0
  return (errno as Readonly<Record<string, number>>)[code] ?? 0
}

const oneLine = (text: string): string => text.split('\n', 1)[0] ?? ''

export const isMissingFile = (thrown: unknown): boolean =>
  (thrown as { code?: unknown } | null)?.code === 'ENOENT'
