/**
 * What a revision tree knows about each revision besides its name: whether it is a deletion, and
 * where its body lies. A run of revisions keeps these as bytes, newest first, so that adding one is
 * putting bytes in front.
 *
 * Token: first byte has bit 0 `deleted`, bits 1-6 the low bits of the body key, bit 7 "more
 * follows" (a varint with the rest). A zero byte and a varint n stand for n revisions that are not
 * deleted and have no body.
 */
import { ByteReader, ByteWriter } from '../../base/bytes.ts'

export interface Payload {
  readonly deleted: boolean
  /** Opaque name of the place of the body, below 2^53. 0: there is no body. */
  readonly bodyKey: number
}

export const MISSING: Payload = Object.freeze({ deleted: false, bodyKey: 0 })

export const isMissing = (payload: Payload): boolean => payload.bodyKey === 0

export function encodePayloads(payloads: readonly Payload[]): Buffer {
  const writer = new ByteWriter(16 + payloads.length)
  for (let index = 0; index < payloads.length; ) {
    const payload = payloads[index] as Payload
    const start = index
    while (index < payloads.length && isNothing(payloads[index] as Payload)) index++
    if (index > start) writer.u8(0).varint(index - start)
    else {
      writeToken(writer, payload)
      index++
    }
  }
  return writer.finish()
}

/** The newest has this payload, `missing` more ones before it have none. */
export function encodeNewest(payload: Payload, missing: number): Buffer {
  const writer = new ByteWriter(24)
  const run = isNothing(payload) ? missing + 1 : missing
  if (!isNothing(payload)) writeToken(writer, payload)
  if (run > 0) writer.u8(0).varint(run)
  return writer.finish()
}

export function decodePayloads(tokens: Buffer): Payload[] {
  const payloads: Payload[] = []
  const reader = new ByteReader(tokens)
  while (!reader.atEnd) {
    const first = reader.u8()
    if (first !== 0) payloads.push(readToken(reader, first))
    else for (let count = reader.varint(); count > 0; count--) payloads.push(MISSING)
  }
  return payloads
}

/** Of the newest one, without looking at the others. */
export function firstPayload(tokens: Buffer): Payload {
  const reader = new ByteReader(tokens)
  const first = reader.u8()
  return first === 0 ? MISSING : readToken(reader, first)
}

/** The tokens of the newest `count` only. */
export function truncatePayloads(tokens: Buffer, count: number): Buffer {
  const reader = new ByteReader(tokens)
  let left = count
  while (left > 0 && !reader.atEnd) {
    const start = reader.position
    const first = reader.u8()
    const run = first === 0 ? reader.varint() : 1
    if (first !== 0) readToken(reader, first)
    if (run > left)
      return Buffer.concat([tokens.subarray(0, start), encodeNewest(MISSING, left - 1)])
    left -= run
  }
  return tokens.subarray(0, reader.position)
}

const isNothing = (payload: Payload): boolean => payload.bodyKey === 0 && !payload.deleted

function writeToken(writer: ByteWriter, payload: Payload): void {
  const rest = Math.floor(payload.bodyKey / 64)
  const first = (payload.deleted ? 1 : 0) | ((payload.bodyKey % 64) << 1)
  if (rest > 0) writer.u8(first | 128).varint(rest)
  else writer.u8(first)
}

function readToken(reader: ByteReader, first: number): Payload {
  const rest = first >= 128 ? reader.varint() : 0
  return { deleted: (first & 1) === 1, bodyKey: rest * 64 + ((first >> 1) & 63) }
}
