/**
 * PostgreSQL's wire protocol as far as the engine speaks it: prepared statements with binary parameters and binary
 * results, many of them in one go. Pure: bytes in, bytes out. Connecting, encryption and passwords are `pg`'s.
 */
import { assert } from '../../base/assert.ts'

const OID_BYTEA = 17
const OID_TEXT = 25
const ARRAY_HEAD_BYTES = 20

export const SYNC = Buffer.from([0x53, 0, 0, 0, 4])
const EXECUTE_ALL = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0])

export function int8(value: bigint | number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes
}

export const readInt8 = (bytes: Buffer): bigint => bytes.readBigInt64BE(0)

export const text = (value: string): Buffer => Buffer.from(value)

export const byteArrays = (values: readonly Uint8Array[]): Buffer => arrayOf(OID_BYTEA, values)

export const texts = (values: readonly string[]): Buffer =>
  arrayOf(
    OID_TEXT,
    values.map(value => Buffer.from(value)),
  )

function arrayOf(oid: number, values: readonly Uint8Array[]): Buffer {
  let length = ARRAY_HEAD_BYTES
  for (const value of values) length += 4 + value.length
  const bytes = Buffer.allocUnsafe(length)
  // Dimensions (none when empty), no nulls, type, length, lower bound.
  bytes.writeInt32BE(values.length === 0 ? 0 : 1, 0)
  bytes.writeInt32BE(0, 4)
  bytes.writeInt32BE(oid, 8)
  bytes.writeInt32BE(values.length, 12)
  bytes.writeInt32BE(1, 16)
  let at = ARRAY_HEAD_BYTES
  for (const value of values) {
    at = bytes.writeInt32BE(value.length, at)
    bytes.set(value, at)
    at += value.length
  }
  return values.length === 0 ? bytes.subarray(0, 12) : bytes
}

/** Prepares a statement under a name; the server takes the types of parameters from its text. */
export function prepareMessage(name: string, statement: string): Buffer {
  const [nameBytes, textBytes] = [Buffer.from(name), Buffer.from(statement)]
  const length = 4 + nameBytes.length + 1 + textBytes.length + 1 + 2
  const bytes = Buffer.alloc(1 + length)
  bytes[0] = 0x50
  bytes.writeInt32BE(length, 1)
  nameBytes.copy(bytes, 5)
  textBytes.copy(bytes, 6 + nameBytes.length)
  return bytes
}

/** Runs a prepared statement: the pieces of the message, so that large parameters are not copied. */
export function runMessages(name: string, parameters: readonly Uint8Array[]): Uint8Array[] {
  const nameBytes = Buffer.from(name)
  let length = 4 + 1 + nameBytes.length + 1 + 4 + 2 + 4
  for (const parameter of parameters) length += 4 + parameter.length
  const head = Buffer.alloc(1 + 4 + 1 + nameBytes.length + 1 + 4 + 2)
  head[0] = 0x42
  head.writeInt32BE(length, 1)
  nameBytes.copy(head, 6)
  // One format code for all parameters: binary.
  let at = 6 + nameBytes.length + 1
  at = head.writeInt16BE(1, at)
  at = head.writeInt16BE(1, at)
  head.writeInt16BE(parameters.length, at)
  const pieces: Uint8Array[] = [head]
  for (const parameter of parameters) {
    const size = Buffer.allocUnsafe(4)
    size.writeInt32BE(parameter.length)
    pieces.push(size, parameter)
  }
  // One format code for all results: binary.
  pieces.push(BINARY_RESULTS, EXECUTE_ALL)
  return pieces
}

const BINARY_RESULTS = Buffer.from([0, 1, 0, 1])

/** The fields of a row, copied: they belong to whoever gets them. */
export function readRow(body: Buffer): (Buffer | undefined)[] {
  const count = body.readInt16BE(0)
  const fields = new Array<Buffer | undefined>(count)
  let at = 2
  for (let field = 0; field < count; field++) {
    const length = body.readInt32BE(at)
    at += 4
    if (length < 0) continue
    fields[field] = Buffer.from(body.subarray(at, at + length))
    at += length
  }
  return fields
}

/** The fields of an error or a notice by their letter: `C` the code, `M` the message, `S` how bad. */
export function readFields(body: Buffer): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  let at = 0
  while (at < body.length && body[at] !== 0) {
    const end = body.indexOf(0, at + 1)
    fields.set(String.fromCharCode(body[at] as number), body.toString('utf8', at + 1, end))
    at = end + 1
  }
  return fields
}

/** What somebody said with NOTIFY. */
export function readNotification(body: Buffer): { channel: string; payload: string } {
  const channelEnd = body.indexOf(0, 4)
  const payloadEnd = body.indexOf(0, channelEnd + 1)
  return {
    channel: body.toString('utf8', 4, channelEnd),
    payload: body.toString('utf8', channelEnd + 1, payloadEnd),
  }
}

/** Cuts a stream of bytes into messages: a letter, a length that counts itself, a body. */
export class MessageCutter {
  readonly #onMessage: (type: number, body: Buffer) => void
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #needed = HEAD_BYTES

  constructor(onMessage: (type: number, body: Buffer) => void) {
    this.#onMessage = onMessage
  }

  feed(chunk: Buffer): void {
    this.#waitingBytes += chunk.length
    this.#waiting.push(chunk)
    if (this.#waitingBytes < this.#needed) return
    const bytes = this.#waiting.length === 1 ? chunk : Buffer.concat(this.#waiting)
    let at = 0
    this.#needed = HEAD_BYTES
    while (bytes.length - at >= HEAD_BYTES) {
      const length = bytes.readInt32BE(at + 1)
      assert(length >= 4, 'a message of PostgreSQL has a length')
      if (bytes.length - at < 1 + length) {
        this.#needed = 1 + length
        break
      }
      this.#onMessage(bytes[at] as number, bytes.subarray(at + HEAD_BYTES, at + 1 + length))
      at += 1 + length
    }
    this.#waiting = at < bytes.length ? [bytes.subarray(at)] : []
    this.#waitingBytes = bytes.length - at
  }
}

const HEAD_BYTES = 5
