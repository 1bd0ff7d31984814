/**
 * Writing and reading of compact binary records: unsigned variable-length integers (7 bits a byte, low bits first,
 * up to 2^53 - 1), fixed bytes and length-prefixed runs. Readers trust nothing: running past the end is a
 * `storage_corrupt` Failure, not an undefined value that travels on.
 */
import { assert } from './assert.ts'
import { Failure } from './errors.ts'

export class ByteWriter {
  #buffer: Buffer
  #length = 0

  constructor(capacity = 256) {
    this.#buffer = Buffer.allocUnsafe(capacity)
  }

  u8(value: number): this {
    this.#reserve(1)
    this.#buffer[this.#length++] = value
    return this
  }

  varint(value: number): this {
    assert(value >= 0 && Number.isSafeInteger(value), 'varint out of range')
    this.#reserve(8)
    let rest = value
    while (rest > 127) {
      this.#buffer[this.#length++] = (rest % 128) | 128
      rest = Math.floor(rest / 128)
    }
    this.#buffer[this.#length++] = rest
    return this
  }

  bytes(value: Uint8Array): this {
    this.#reserve(value.length)
    this.#buffer.set(value, this.#length)
    this.#length += value.length
    return this
  }

  /** The length first, then the bytes. */
  run(value: Uint8Array): this {
    return this.varint(value.length).bytes(value)
  }

  text(value: string): this {
    const length = Buffer.byteLength(value)
    this.varint(length).#reserve(length)
    this.#length += this.#buffer.write(value, this.#length)
    return this
  }

  /** A view of what was written; the writer must not be used afterwards. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#buffer.length) return
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + count))
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
  }
}

export class ByteReader {
  readonly #buffer: Buffer
  #position: number

  constructor(buffer: Buffer, position = 0) {
    this.#buffer = buffer
    this.#position = position
  }

  get position(): number {
    return this.#position
  }

  get atEnd(): boolean {
    return this.#position >= this.#buffer.length
  }

  u8(): number {
    const value = this.#buffer[this.#position++]
    return value === undefined ? truncated() : value
  }

  varint(): number {
    let value = 0
    let scale = 1
    for (;;) {
      const byte = this.u8()
      value += (byte & 127) * scale
      if (byte < 128) return value
      scale *= 128
      if (scale > Number.MAX_SAFE_INTEGER) truncated()
    }
  }

  bytes(length: number): Buffer {
    const end = this.#position + length
    if (end > this.#buffer.length) truncated()
    const value = this.#buffer.subarray(this.#position, end)
    this.#position = end
    return value
  }

  skip(length: number): void {
    this.#position += length
    if (this.#position > this.#buffer.length) truncated()
  }

  run(): Buffer {
    return this.bytes(this.varint())
  }

  text(): string {
    const length = this.varint()
    const end = this.#position + length
    if (end > this.#buffer.length) truncated()
    const value = this.#buffer.toString('utf8', this.#position, end)
    this.#position = end
    return value
  }

  rest(): Buffer {
    const value = this.#buffer.subarray(this.#position)
    this.#position = this.#buffer.length
    return value
  }
}

function truncated(): never {
  throw new Failure('storage_corrupt', { reason: 'a stored record ends too early' })
}
