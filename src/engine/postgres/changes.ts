/**
 * What works want written, gathered and folded: of all changes to a key only the last counts, and what a range deletes
 * need not be put first. What is left can be done in any order but one: ranges, then keys.
 */
import type { Key, Range, WriteTx } from '../engine.ts'
import { compareKeys, isEmptyRange } from '../key-order.ts'
import type { Call } from './connection.ts'
import { WishingTx } from './read-steps.ts'
import type { Statements } from './statements.ts'

/** Of one statement. */
const STATEMENT_COUNT_MAX = 2000
const STATEMENT_BYTES_MAX = 4 * 1024 * 1024

type Change =
  | { readonly key: Key; readonly value: Uint8Array | undefined }
  | { readonly range: Range }

/** A work's own view: reads go to the store, changes wait until the work has returned. */
export class ChangingTx extends WishingTx implements WriteTx {
  readonly changes: Change[] = []

  put(key: Key, value: Uint8Array): void {
    this.changes.push({ key, value })
  }

  delete(key: Key): void {
    this.changes.push({ key, value: undefined })
  }

  deleteRange(range: Range): void {
    if (!isEmptyRange(range)) this.changes.push({ range })
  }
}

interface KeyChange {
  readonly key: Key
  readonly value: Uint8Array | undefined
}

/** What works that have returned changed, and what is not yet in the store. */
export class PendingChanges {
  readonly #keys = new Map<string, KeyChange>()
  #ranges: Range[] = []
  #bytes = 0

  get isEmpty(): boolean {
    return this.#keys.size === 0 && this.#ranges.length === 0
  }

  /** Of all that was ever put here. */
  get bytes(): number {
    return this.#bytes
  }

  add(changes: readonly Change[]): void {
    for (const change of changes) {
      if ('range' in change) this.#deleteRange(change.range)
      else {
        this.#keys.set(nameOf(change.key), change)
        this.#bytes += change.key.length + (change.value?.length ?? 0)
      }
    }
  }

  /** Its value, null when it will be gone, undefined when only the store knows. */
  find(key: Key): Buffer | null | undefined {
    const change = this.#keys.get(nameOf(key))
    if (change !== undefined) return change.value === undefined ? null : Buffer.from(change.value)
    return this.#ranges.some(range => isWithin(key, range)) ? null : undefined
  }

  /** As statements; nothing is pending afterwards. */
  take(statements: Statements, store: Uint8Array): Call[] {
    const calls = this.#ranges.map(range => statements.deleteRange(store, range))
    const puts: KeyChange[] = []
    const deletes: Key[] = []
    for (const change of this.#keys.values()) {
      if (change.value === undefined) deletes.push(change.key)
      else puts.push(change)
    }
    // In the order of the index: neighbours meet the same pages.
    puts.sort((a, b) => compareKeys(a.key, b.key))
    for (let at = 0; at < deletes.length; at += STATEMENT_COUNT_MAX) {
      calls.push(statements.delete(store, deletes.slice(at, at + STATEMENT_COUNT_MAX)))
    }
    for (const part of parts(puts)) {
      const values = part.map(({ value }) => value as Uint8Array)
      calls.push(
        statements.put(
          store,
          part.map(({ key }) => key),
          values,
        ),
      )
    }
    this.#keys.clear()
    this.#ranges = []
    return calls
  }

  #deleteRange(range: Range): void {
    for (const [name, { key }] of this.#keys) if (isWithin(key, range)) this.#keys.delete(name)
    this.#ranges.push(range)
  }
}

const nameOf = (key: Key): string =>
  Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')

const isWithin = (key: Key, range: Range): boolean =>
  compareKeys(key, range.start) >= 0 && compareKeys(key, range.end) < 0

function parts(puts: readonly KeyChange[]): KeyChange[][] {
  const all: KeyChange[][] = []
  let part: KeyChange[] = []
  let bytes = 0
  for (const put of puts) {
    const length = put.key.length + (put.value?.length ?? 0)
    const isFull = part.length >= STATEMENT_COUNT_MAX || bytes + length > STATEMENT_BYTES_MAX
    if (part.length > 0 && isFull) {
      all.push(part)
      part = []
      bytes = 0
    }
    part.push(put)
    bytes += length
  }
  if (part.length > 0) all.push(part)
  return all
}
