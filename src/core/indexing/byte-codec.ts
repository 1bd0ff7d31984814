/**
 * Small parts of the index's byte formats: whole numbers of variable length (seven bits a byte, low
 * ones first, the high bit says more follows) and a reader that walks over bytes. Numbers up to
 * 2^53 - 1.
 */
import { assert } from '../../base/assert.ts'
import type { KeyWriter } from '../../base/collate/key-writer.ts'

export function appendVarint(out: KeyWriter, value: number): void {
  let left = value
  while (left > 0x7f) {
    out.byte((left % 128) | 0x80)
    left = Math.floor(left / 128)
  }
  out.byte(left)
}

/** A length and that many bytes. */
export function appendBlob(out: KeyWriter, bytes: Uint8Array): void {
  appendVarint(out, bytes.length)
  out.append(bytes)
}

export class ByteReader {
  readonly bytes: Buffer
  at: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  get isDone(): boolean {
    return this.at >= this.bytes.length
  }

  varint(): number {
    let value = 0
    let scale = 1
    for (;;) {
      const byte = this.bytes[this.at++]
      assert(byte !== undefined, 'index bytes end too early')
      if (byte < 0x80) return value + byte * scale
      value += (byte - 0x80) * scale
      scale *= 128
    }
  }

  /** A view of the next `length` bytes, not a copy. */
  take(length: number): Buffer {
    const taken = this.bytes.subarray(this.at, this.at + length)
    assert(taken.length === length, 'index bytes end too early')
    this.at += length
    return taken
  }

  blob(): Buffer {
    return this.take(this.varint())
  }
}
