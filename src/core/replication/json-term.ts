/** A JSON value as Erlang external term bytes, the way CouchDB holds JSON: `{"a":1}` is `{[{<<"a">>, 1}]}`. */
import { type Json, JsonFloat } from '../../base/json/exact-json.ts'
import { TAG, type TermBuffer } from '../../base/json/term-buffer.ts'

/** Lists of bytes that are shorter are written as strings. */
const STRING_LENGTH_MAX = 65535

export function putJson(term: TermBuffer, value: Json): void {
  if (value === null) term.putNull()
  else if (typeof value === 'boolean') term.putBoolean(value)
  else if (typeof value === 'string') term.putText(value)
  else if (typeof value === 'bigint') term.putBigInteger(value)
  else if (typeof value === 'number') term.putInteger(value)
  else if (value instanceof JsonFloat) term.putDouble(value.value)
  else if (Array.isArray(value)) putList(term, value)
  else putObject(term, value)
}

function putList(term: TermBuffer, list: readonly Json[]): void {
  const isString = list.length > 0 && list.length <= STRING_LENGTH_MAX && list.every(isByte)
  if (isString) {
    putByteString(term, Uint8Array.from(list as number[]))
    return
  }
  putCount(term, list.length)
  for (const each of list) putJson(term, each)
  term.putByte(TAG.nil)
}

function putObject(term: TermBuffer, members: ReadonlyMap<string, Json>): void {
  term.putByte(TAG.tuple)
  term.putByte(1)
  putCount(term, members.size)
  for (const [name, value] of members) {
    term.putByte(TAG.tuple)
    term.putByte(2)
    term.putText(name)
    putJson(term, value)
  }
  term.putByte(TAG.nil)
}

/** The head of a list; an empty one is its end alone. */
export function putCount(term: TermBuffer, count: number): void {
  if (count === 0) return
  term.putByte(TAG.list)
  term.putUint32(count)
}

/** @param bytes at least one, at most 65,535 */
export function putByteString(term: TermBuffer, bytes: Uint8Array): void {
  term.putByte(TAG.string)
  term.putByte(bytes.length >>> 8)
  term.putByte(bytes.length & 255)
  term.putBytes(bytes)
}

const isByte = (value: Json): boolean =>
  typeof value === 'number' && value >= 0 && value <= 255 && Number.isInteger(value)
