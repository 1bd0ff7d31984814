/**
 * Makes a data folder, or checks that an existing one is for us: it holds a file `FORMAT` with
 * `{"format":1,"engine":"embedded"}`. A folder is never read by a version that does not know its
 * format.
 */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs/promises'
import path from 'node:path'
import { Failure } from '../../base/errors.ts'
import { isMissingFile, storageFailure } from './storage-errors.ts'
import { CATALOG_FILE, syncFolder } from './store-files.ts'

export const FORMAT_FILE = 'FORMAT'
/**
 * Raise it with every change that an older version cannot read; docs/data-layout.md has a paragraph
 * for each.
 */
export const FORMAT_NUMBER = 1

export async function prepareFolder(folder: string, engine: string): Promise<void> {
  try {
    await fs.mkdir(folder, { recursive: true })
    await fs.access(folder, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK)
  } catch (error) {
    throw folderFailure(error, folder)
  }
  const text = await readFormat(folder)
  if (text === undefined) await writeFormat(folder, engine)
  else checkFormat(folder, text, engine)
}

async function readFormat(folder: string): Promise<string | undefined> {
  const file = path.join(folder, FORMAT_FILE)
  try {
    return await fs.readFile(file, 'utf8')
  } catch (error) {
    if (!isMissingFile(error)) throw storageFailure(error, file)
  }
  const names = await fs.readdir(folder)
  if (names.includes(CATALOG_FILE)) {
    throw corrupt(file, 'the file is missing though there is data; restore it from a backup')
  }
  return undefined
}

/** By way of another name: processes that start together see nothing or all of it. */
async function writeFormat(folder: string, engine: string): Promise<void> {
  const file = path.join(folder, FORMAT_FILE)
  const draft = `${file}.${randomUUID()}`
  try {
    await fs.writeFile(draft, `${JSON.stringify({ format: FORMAT_NUMBER, engine })}\n`, {
      flush: true,
    })
    await fs.rename(draft, file)
  } catch (error) {
    throw storageFailure(error, file)
  }
  await syncFolder(folder)
}

function checkFormat(folder: string, text: string, engine: string): void {
  const file = path.join(folder, FORMAT_FILE)
  const found = parseFormat(file, text)
  if (found.format > FORMAT_NUMBER) {
    throw new Failure('storage_newer', {
      subject: folder,
      reason: `the data has format ${found.format}; this version knows ${FORMAT_NUMBER}: upgrade`,
    })
  }
  if (found.engine !== engine) {
    throw corrupt(
      file,
      `the folder is one of engine "${found.engine}"; use another for "${engine}"`,
    )
  }
}

function parseFormat(file: string, text: string): { format: number; engine: string } {
  try {
    const { format, engine } = JSON.parse(text) as { format?: unknown; engine?: unknown }
    if (Number.isSafeInteger(format) && Number(format) > 0 && typeof engine === 'string') {
      return { format: Number(format), engine }
    }
  } catch {
    // Said below, with what to do.
  }
  throw corrupt(file, 'the file is unreadable; restore it from a backup or use another folder')
}

/** Whatever hinders making the folder, its effect is that it cannot be written. */
function folderFailure(error: unknown, folder: string): Failure {
  const failure = storageFailure(error, folder)
  if (failure.code !== 'unexpected') return failure
  return new Failure('storage_unwritable', failure.detail, error)
}

const corrupt = (subject: string, reason: string): Failure =>
  new Failure('storage_corrupt', { subject, reason })
