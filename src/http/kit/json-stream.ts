/**
 * Rows to a JSON body: prefix, rows with separators between them, suffix.
 *
 * Promises: one chunk a batch and no promise a row; a batch may be FLUSH, which is passed on. Prefix and
 * suffix may be functions: the prefix is made when the first batch is there, the suffix after the last,
 * so both can tell what only the source knows. Errors of the source come through untouched.
 */
import { type BodyPiece, FLUSH } from './reply.ts'

export type RowBatch = readonly (Buffer | string)[] | typeof FLUSH

export interface RowFrame {
  readonly prefix: string | (() => string)
  readonly separator: string
  readonly suffix: string | (() => string)
}

export async function* joinRows(
  frame: RowFrame,
  batches: AsyncIterable<RowBatch>,
): AsyncGenerator<BodyPiece, void, undefined> {
  let before: string | undefined
  for await (const batch of batches) {
    if (batch === FLUSH) {
      if (before === undefined) {
        yield textOf(frame.prefix)
        before = ''
      }
      yield FLUSH
    } else if (batch.length > 0) {
      yield joinBatch(before ?? textOf(frame.prefix), frame.separator, batch)
      before = frame.separator
    }
  }
  yield before === undefined ? textOf(frame.prefix) + textOf(frame.suffix) : textOf(frame.suffix)
}

const textOf = (text: string | (() => string)): string => (typeof text === 'string' ? text : text())

/** `before` row `separator` row ... as one piece. Texts are joined as texts, bytes are copied once. */
export function joinBatch(
  before: string,
  separator: string,
  rows: readonly (Buffer | string)[],
): Buffer | string {
  if (rows.every(row => typeof row === 'string')) return before + rows.join(separator)
  const separatorBytes = Buffer.byteLength(separator)
  let size = Buffer.byteLength(before) + separatorBytes * (rows.length - 1)
  for (const row of rows) size += typeof row === 'string' ? Buffer.byteLength(row) : row.length
  const joined = Buffer.allocUnsafe(size)
  let at = joined.write(before)
  for (const [index, row] of rows.entries()) {
    if (index > 0) at += joined.write(separator, at)
    at += typeof row === 'string' ? joined.write(row, at) : row.copy(joined, at)
  }
  return joined
}
