/**
 * Users as rows of a table: a header with names of members (dots make objects), then one user a row.
 *
 * Rows are made while the bytes come in; neither the file nor its rows are ever whole in memory. A row that is longer than
 * any user is refused, and with it whatever follows.
 */
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
  let header: readonly Column[] | undefined
  for await (const cells of recordsOf(bytes)) {
    if (header === undefined) header = headerOf(cells)
    else if (cells.some(cell => cell !== '')) yield rowOf(header, cells)
  }
  // Nothing at all reads as one user of whom nothing is known.
  if (header === undefined) yield { record: {} }
}

/** What was read before the text broke off comes first, then the failure. */
async function* recordsOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string[], void, undefined> {
  const parser = parse(OPTIONS)
  let failure: Error | undefined
  let isOver = false
  let wake = (): void => {}
  parser.on('readable', () => wake()).on('end', () => wake())
  parser.on('error', error => {
    failure = error
  })
  parser.on('close', () => {
    isOver = true
    wake()
  })
  try {
    for await (const chunk of bytes) {
      if (isOver) break
      parser.write(chunk)
      yield* readyIn(parser)
    }
    if (!isOver) parser.end()
    while (!isOver) {
      yield* readyIn(parser)
      await new Promise<void>(resolve => {
        wake = resolve
        if (isOver) resolve()
      })
    }
  } finally {
    parser.destroy()
  }
  if (failure !== undefined) throw invalid(`The CSV cannot be read: ${failure.message}`)
}

function* readyIn(parser: { read(): unknown }): Generator<string[], void, undefined> {
  for (;;) {
    const record = parser.read()
    if (record === null) return
    yield record as string[]
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
    const cell = cells[at]?.trim()
    if (cell === undefined) continue
    if (path === undefined) notes.set(name.toLowerCase(), cell)
    else place(record, path, cellValue(cell))
  }
  const status = notes.get(STATUS)?.toLowerCase() ?? ''
  const ignored = IGNORED.includes(status)
    ? { ignored: { status, message: notes.get(MESSAGE) ?? '' } }
    : {}
  const error =
    cells.length > header.length ? { error: 'The row has more cells than the header.' } : {}
  return { record, ...ignored, ...error }
}

const cellValue = (cell: string): string | boolean =>
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
