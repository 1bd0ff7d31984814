/**
 * Texts one behind the other and where each begins: what a list of millions of texts should be. It lies in memory that
 * threads share: an image of it can be sent to another thread and costs nothing, and is good until the list changes.
 */
import { KeyWriter } from '../../../base/collate/key-writer.ts'
import { NumberList } from '../number-list.ts'

/** Plain data, as it arrives in another thread. */
export interface TextImage {
  readonly bytes: Uint8Array
  /** One more than there are texts. */
  readonly starts: Uint32Array
}

export class TextList {
  readonly out = new KeyWriter(64, sharedBytes)
  readonly starts = new NumberList(64, true)

  constructor() {
    this.starts.push(0)
  }

  get count(): number {
    return this.starts.length - 1
  }

  add(text: string): void {
    const { out } = this
    out.reserve(text.length * 3)
    out.length += out.bytes.write(text, out.length)
    this.starts.push(out.length)
  }

  /** Adds bytes[start, end). */
  addPart(bytes: Uint8Array, start: number, end: number): void {
    this.out.append(bytes, start, end)
    this.starts.push(this.out.length)
  }

  clear(): void {
    this.out.reset()
    this.starts.clear()
    this.starts.push(0)
  }

  image(): TextImage {
    const { out, starts } = this
    return { bytes: out.bytes.subarray(0, out.length), starts: starts.taken() }
  }
}

/** What came from another thread is no Buffer any more. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const sharedBytes = (count: number): Buffer => Buffer.from(new SharedArrayBuffer(count))
