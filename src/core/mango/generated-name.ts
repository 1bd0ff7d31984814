/**
 * The name that an index gets when none is given: CouchDB's own, so that both servers agree on it.
 *
 * It is the SHA-1 of the Erlang term `{Definition, Options}`, options sorted by name. Integers
 * beyond 2^53 were rounded by JSON.parse and give another name than CouchDB's, which is harmless.
 */
import { createHash } from 'node:crypto'
import { isJsonArray, isJsonObject, type JsonValue } from './json-value.ts'

export interface NamedBy {
  readonly index: JsonValue
  readonly type: string
  readonly name: string | undefined
  readonly ddoc: string | undefined
  readonly writeQuorum: number
  readonly partitioned: boolean | undefined
}

export function generatedIndexName(request: NamedBy): string {
  const { index, type, name, ddoc, writeQuorum, partitioned } = request
  const options = [
    pair('ddoc', ddoc === undefined ? atom('auto_name') : term(ddoc)),
    pair('def', term(index)),
    pair('name', name === undefined ? atom('auto_name') : term(name)),
    pair('partitioned', atom(partitioned === undefined ? 'db_default' : String(partitioned))),
    pair('type', term(type)),
    pair('w', term(writeQuorum)),
  ]
  const bytes = Buffer.concat([Buffer.of(131, 0x68, 2), term(index), list(options)])
  return createHash('sha1').update(bytes).digest('hex')
}

const NIL = Buffer.of(0x6a)

function term(value: JsonValue): Buffer {
  if (typeof value === 'string') return binary(value)
  if (typeof value === 'number') return number(value)
  if (isJsonArray(value)) return isByteList(value) ? byteList(value) : list(value.map(term))
  if (!isJsonObject(value)) return atom(String(value))
  const members = Object.entries(value).map(([name, item]) =>
    Buffer.concat([Buffer.of(0x68, 2), binary(name), term(item)]),
  )
  return Buffer.concat([Buffer.of(0x68, 1), list(members)])
}

const pair = (name: string, value: Buffer) => Buffer.concat([Buffer.of(0x68, 2), atom(name), value])

function list(items: readonly Buffer[]): Buffer {
  if (items.length === 0) return NIL
  return Buffer.concat([sized(0x6c, 4, items.length), ...items, NIL])
}

/** Lists of small integers are strings to Erlang. */
const isByteList = (items: readonly JsonValue[]): items is readonly number[] =>
  items.length > 0 &&
  items.length <= 65_535 &&
  items.every(item => Number.isInteger(item) && Number(item) >= 0 && Number(item) <= 255)

const byteList = (items: readonly number[]) =>
  Buffer.concat([sized(0x6b, 2, items.length), Buffer.from(items)])

function binary(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([sized(0x6d, 4, bytes.length), bytes])
}

const atom = (name: string) => Buffer.concat([sized(0x64, 2, name.length), Buffer.from(name)])

function sized(tag: number, sizeBytes: number, size: number): Buffer {
  const head = Buffer.alloc(1 + sizeBytes)
  head[0] = tag
  head.writeUIntBE(size, 1, sizeBytes)
  return head
}

function number(value: number): Buffer {
  if (!Number.isInteger(value)) {
    const float = Buffer.alloc(9)
    float[0] = 0x46
    float.writeDoubleBE(value, 1)
    return float
  }
  if (value >= 0 && value <= 255) return Buffer.of(0x61, value)
  if (value >= -0x8000_0000 && value <= 0x7fff_ffff) {
    const integer = Buffer.alloc(5)
    integer[0] = 0x62
    integer.writeInt32BE(value, 1)
    return integer
  }
  return bigInteger(BigInt(value))
}

function bigInteger(value: bigint): Buffer {
  const digits: number[] = []
  for (let rest = value < 0n ? -value : value; rest > 0n; rest >>= 8n)
    digits.push(Number(rest & 255n))
  return Buffer.concat([Buffer.of(0x6e, digits.length, value < 0n ? 1 : 0), Buffer.from(digits)])
}
