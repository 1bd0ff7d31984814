/**
 * Looks at a file before LMDB opens it. The pinned `lmdb` package ends the process with a
 * segmentation fault when opening fails inside it, so whatever can be known before is found out
 * here and becomes a Failure: a file that is something else or was cut short, missing rights, no
 * file handles left.
 *
 * Only the data file is opened. The lock file must not be: closing any handle on it drops this
 * process's locks.
 *
 *   bytes 18-19 flags of the page (8: meta)   24-27 magic   28-29 version   48-51 page size
 */
import fs from 'node:fs'
import path from 'node:path'
import { Failure } from '../../base/errors.ts'
import { isMissingFile, storageFailure } from './storage-errors.ts'

const HEADER_BYTES = 160
const META_PAGE_FLAG = 0x08
const MAGIC = 0xbeefc0de
const VERSION = 2
/** Data, lock and one to write with. */
const HANDLES_NEEDED = 3

export function assertOpenable(file: string): void {
  try {
    checkRights(file)
    const handles: number[] = []
    try {
      for (let i = 0; i < HANDLES_NEEDED; i++) handles.push(fs.openSync(file, 'r+'))
      checkHeader(file, handles[0] as number)
    } finally {
      for (const handle of handles) fs.closeSync(handle)
    }
  } catch (error) {
    // LMDB makes a file that is missing; the right to do so was checked.
    if (!isMissingFile(error)) throw storageFailure(error, file)
  }
}

function checkRights(file: string): void {
  fs.accessSync(path.dirname(file), fs.constants.W_OK | fs.constants.X_OK)
  try {
    fs.accessSync(`${file}-lock`, fs.constants.R_OK | fs.constants.W_OK)
  } catch (error) {
    if (!isMissingFile(error)) throw error
  }
}

function checkHeader(file: string, handle: number): void {
  if (fs.fstatSync(handle).size === 0) return
  const first = readHeader(file, handle, 0)
  if (first.readUInt16LE(28) !== VERSION) throw corrupt(file, 'written by another version of LMDB')
  const pageBytes = first.readUInt32LE(48)
  if (pageBytes < 512 || pageBytes > 65_536) throw corrupt(file, 'the page size makes no sense')
  readHeader(file, handle, pageBytes)
}

function readHeader(file: string, handle: number, at: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  if (fs.readSync(handle, header, 0, HEADER_BYTES, at) < HEADER_BYTES) {
    throw corrupt(file, 'the file was cut short')
  }
  const isMeta = (header.readUInt16LE(18) & META_PAGE_FLAG) !== 0
  if (!isMeta || header.readUInt32LE(24) !== MAGIC) throw corrupt(file, 'not a file of LMDB')
  return header
}

const corrupt = (subject: string, reason: string): Failure =>
  new Failure('storage_corrupt', { subject, reason })
