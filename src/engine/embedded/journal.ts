/**
 * The journal of a compaction: which keys were touched while the rows were being copied.
 *
 * One entry per write, under ascending numbers. An entry names keys and ranges, not values: whoever
 * replays it makes the new file agree with the old one at those keys, so entries may be replayed
 * late, twice, and in any order.
 *
 *   entry = { 0x00 <2 bytes length> key | 0x01 <2 bytes length> start <2 bytes length> end } ...
 */
import type { Key, Range } from '../engine.ts'
import type { EnvironmentView, EnvironmentWriter, StoredRange } from './lmdb-environment.ts'
import { ReservedKey } from './reserved-keys.ts'

export type Touched = { readonly key: Key } | { readonly range: Range }

export interface JournalEntry {
  readonly number: number
  readonly touched: readonly Touched[]
}

/** Every entry after the given number. */
export const journalAfter = (number: number): StoredRange => ({
  start: entryKey(number + 1),
  end: new ReservedKey(Buffer.from('k')),
})

/** Adds an entry and returns its number. Only inside a write, so numbers are unique. */
export function appendJournal(writer: EnvironmentWriter, touched: readonly Touched[]): number {
  const last = writer.scan(journalAfter(-1), { limit: 1, reverse: true, keysOnly: true })[0]
  const number = last === undefined ? 0 : entryNumber(last.key) + 1
  writer.put(entryKey(number), encode(touched))
  return number
}

export function readJournal(view: EnvironmentView, after: number, limit: number): JournalEntry[] {
  const rows = view.scan(journalAfter(after), { limit, bytesMax: 8 * 1024 * 1024 })
  return rows.map(row => ({ number: entryNumber(row.key), touched: decode(row.value) }))
}

/** Removes at most `limit` entries; false when some are left. */
export function clearJournal(writer: EnvironmentWriter, limit: number): boolean {
  const rows = writer.scan(journalAfter(-1), { limit, keysOnly: true })
  for (const row of rows) writer.delete(new ReservedKey(row.key))
  return rows.length < limit
}

function entryKey(number: number): ReservedKey {
  const bytes = Buffer.alloc(9)
  bytes[0] = 0x6a // 'j'
  bytes.writeBigUInt64BE(BigInt(number), 1)
  return new ReservedKey(bytes)
}

const entryNumber = (key: Buffer): number => Number(key.readBigUInt64BE(1))

function encode(touched: readonly Touched[]): Buffer {
  const parts: Uint8Array[] = []
  for (const each of touched) {
    if ('key' in each) parts.push(tagged(0, each.key), each.key)
    else
      parts.push(
        tagged(1, each.range.start),
        each.range.start,
        lengthOf(each.range.end),
        each.range.end,
      )
  }
  return Buffer.concat(parts)
}

const tagged = (tag: number, key: Key): Buffer =>
  Buffer.from([tag, key.length >>> 8, key.length & 0xff])

const lengthOf = (key: Key): Buffer => Buffer.from([key.length >>> 8, key.length & 0xff])

function decode(bytes: Buffer): Touched[] {
  const touched: Touched[] = []
  let at = 0
  const take = (): Buffer => {
    const length = bytes.readUInt16BE(at)
    const key = bytes.subarray(at + 2, at + 2 + length)
    at += 2 + length
    return key
  }
  while (at < bytes.length) {
    const isRange = bytes[at++] === 1
    const first = take()
    touched.push(isRange ? { range: { start: first, end: take() } } : { key: first })
  }
  return touched
}
