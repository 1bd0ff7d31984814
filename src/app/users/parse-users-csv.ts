/**
 * Users as rows of a table: a header with names of members (dots make objects), then one user a row.
 *
 * Rows are made while the bytes come in; neither the file nor its rows are ever whole in memory. A row that is longer than
 * any user is refused, and with it whatever follows.
 */
import { Readable } from 'node:stream'
import { parse } from 'csv-parse'
import type { JsonObject } from '../documents/document.ts'
import { invalid } from '../documents/refusal.ts'

export interface UserRow {
  readonly record: JsonObject
  /** The file says that this user was dealt with before, and how. */
  readonly ignored?: { readonly status: string; readonly message: string }
  /** What is wrong with the row itself; the cells that were read are tried all the same. */
  readonly error?: string
}

const RECORD_BYTES_MAX = 256 * 1024
const COLUMNS_MAX = 500
const EXCLUDED = /.:excluded/i
const STATUS = 'import.status:excluded'
const MESSAGE = 'import.message:excluded'
const IGNORED: readonly string[] = ['imported', 'skipped']

const OPTIONS = {
  bom: true,
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
  trim: true,
  max_record_size: RECORD_BYTES_MAX,
} as const

/** Fails with `request_invalid` where the text stops being a table. */
export async function* parseUsersCsv(
  bytes: AsyncIterable<Buffer>,
): AsyncGenerator<UserRow, void, undefined> {
  const parser = Readable.from(bytes).on('error', error => parser.destroy(error)).pipe(parse(OPTIONS))
  let header: readonly Column[] | undefined
  try {
    for await (const cells of parser as AsyncIterable<string[]>) {
      if (header === undefined) header = headerOf(cells)
      else if (cells.some(cell => cell !== '')) yield rowOf(header, cells)
    }
  } catch (thrown) {
    throw isCsvError(thrown) ? invalid(`The CSV cannot be read: ${thrown.message}`) : thrown
  } finally {
    parser.destroy()
  }
}

interface Column {
  readonly name: string
  /** Undefined where the column is not part of the user. */
  readonly path: readonly string[] | undefined
}

function headerOf(cells: readonly string[]): Column[] {
  if (cells.length > COLUMNS_MAX) throw invalid('The CSV has too many columns.')
  return cells.map(cell => {
    const name = cell.trim()
    const isUsed = name !== '' && !EXCLUDED.test(name.slice(name.lastIndexOf('.') + 1))
    return { name, path: isUsed ? name.split('.') : undefined }
  })
}

function rowOf(header: readonly Column[], cells: readonly string[]): UserRow {
  const record: Record<string, unknown> = {}
  const notes = new Map<string, string>()
  for (const [at, { name, path }] of header.entries()) {
    const cell = cells[at]
    if (cell === undefined) continue
    if (path === undefined) notes.set(name.toLowerCase(), cell)
    else place(record, path, valueOf(cell))
  }
  const status = notes.get(STATUS)?.toLowerCase() ?? ''
  const ignored = IGNORED.includes(status)
    ? { ignored: { status, message: notes.get(MESSAGE) ?? '' } }
    : {}
  const error =
    cells.length > header.length ? { error: 'The row has more cells than the header.' } : {}
  return { record, ...ignored, ...error }
}

const valueOf = (cell: string): string | boolean =>
  cell === 'TRUE' ? true : cell === 'FALSE' ? false : cell

/** Makes the objects on the way. A name that is taken by a plain value loses it. */
function place(record: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let at = record
  for (const name of path.slice(0, -1)) {
    const known = Object.hasOwn(at, name) ? at[name] : undefined
    const next = typeof known === 'object' && known !== null ? known : {}
    put(at, name, next)
    at = next as Record<string, unknown>
  }
  put(at, path.at(-1) as string, value)
}

/** A member like any other, whatever it is called. */
const put = (object: object, name: string, value: unknown): void => {
  const member = { value, writable: true, enumerable: true, configurable: true }
  Object.defineProperty(object, name, member)
}

const isCsvError = (thrown: unknown): thrown is Error & { code: string } =>
  thrown instanceof Error && 'code' in thrown && String(thrown.code).startsWith('CSV_')
