/**
 * What a work sees of a store: reads go straight to LMDB, changes wait in a list until the work has
 * returned.
 *
 * So a work that throws leaves nothing behind, and reads inside a write show the state before it.
 * `apply` runs in the same turn inside the same LMDB transaction; sizes were checked when the
 * change was made, see `LmdbEnvironment.#apply` for why it is all or nothing.
 */
import { Failure } from '../../base/errors.ts'
import type { BatchOptions, Entry, Key, Range, ReadTx, Steps, WriteTx } from '../engine.ts'
import { isEmptyRange, keyAfter } from '../key-order.ts'
import { EMBEDDED_LIMITS } from './embedded-limits.ts'
import type { Touched } from './journal.ts'
import type { EnvironmentView, EnvironmentWriter } from './lmdb-environment.ts'

const DELETE_SLICE_COUNT = 1000

export class EmbeddedReadTx implements ReadTx {
  readonly #view: EnvironmentView

  constructor(view: EnvironmentView) {
    this.#view = view
  }

  *get(key: Key): Steps<Buffer | undefined> {
    return this.#view.get(key)
  }

  *getMany(keys: readonly Key[]): Steps<(Buffer | undefined)[]> {
    const view = this.#view
    return keys.map(key => view.get(key))
  }

  *scan(range: Range, options: BatchOptions): Steps<Entry[]> {
    return isEmptyRange(range) ? [] : this.#view.scan(range, options)
  }
}

type Change =
  | { readonly key: Key; readonly value: Uint8Array | undefined }
  | { readonly range: Range }

export class EmbeddedWriteTx extends EmbeddedReadTx implements WriteTx {
  readonly #changes: Change[] = []
  #bytes = 0

  put(key: Key, value: Uint8Array): void {
    checkSize('key', key.length, 1, EMBEDDED_LIMITS.keyBytesMax)
    checkSize('value', value.length, 0, EMBEDDED_LIMITS.valueBytesMax)
    this.#bytes += key.length + value.length
    checkSize('transaction', this.#bytes, 0, EMBEDDED_LIMITS.transactionBytesMax)
    this.#changes.push({ key, value })
  }

  delete(key: Key): void {
    checkSize('key', key.length, 1, EMBEDDED_LIMITS.keyBytesMax)
    this.#changes.push({ key, value: undefined })
  }

  deleteRange(range: Range): void {
    if (!isEmptyRange(range)) this.#changes.push({ range })
  }

  apply(writer: EnvironmentWriter): void {
    for (const change of this.#changes) {
      if ('range' in change) removeRange(writer, change.range)
      else if (change.value === undefined) writer.delete(change.key)
      else writer.put(change.key, change.value)
    }
  }

  touched(): readonly Touched[] {
    return this.#changes
  }
}

/** In slices, each read afresh: a cursor does not survive deletes under it. */
export function removeRange(writer: EnvironmentWriter, range: Range): void {
  let start = range.start
  for (;;) {
    const rows = writer.scan(
      { start, end: range.end },
      { limit: DELETE_SLICE_COUNT, keysOnly: true },
    )
    for (const row of rows) writer.delete(row.key)
    const last = rows.at(-1)
    if (last === undefined || rows.length < DELETE_SLICE_COUNT) return
    start = keyAfter(last.key)
  }
}

function checkSize(what: string, bytes: number, min: number, max: number): void {
  if (bytes >= min && bytes <= max) return
  throw new Failure('limit_exceeded', {
    reason: `${what} of ${bytes} bytes, allowed ${min} to ${max}`,
  })
}
