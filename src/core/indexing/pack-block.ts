/**
 * How blocks are compressed: in half bytes (nibble-codec.ts), which costs next to nothing, or by deflate where that
 * makes them much smaller, as with values that are objects. The rows of a tree are alike, so one block in some dozens
 * is tried both ways and the ones after it follow. Blocks that stay large are stored as they are.
 */
import { promisify } from 'node:util'
import { deflateRaw, deflateRawSync, type ZlibOptions } from 'node:zlib'
import { KeyWriter } from '../../base/collate/key-writer.ts'
import { appendVarint } from './byte-codec.ts'
import { commonBytes, packNibbles } from './nibble-codec.ts'
import { KIND_DEFLATED, KIND_NIBBLES, plainNode } from './node-store.ts'

/** For the blocks of one tree. */
export class BlockPacker {
  #packedCount = 0
  #deflates = false
  #common = commonBytes(NOTHING)

  /** The stored form of a block. */
  pack(plain: Buffer): Buffer {
    if (plain.length < COMPRESS_BYTES_MIN) return plainNode(plain)
    if (this.#packedCount++ % TRIAL_EVERY === 0) return this.#try(plain)
    if (this.#deflates) return deflated(plain, deflateRawSync(plain, DEFLATE))
    const packed = this.#inNibbles(plain)
    return isSmaller(packed, plain) ? packed : plainNode(plain)
  }

  /** The same with deflate on the thread pool, for those who have many at once. */
  packAside(plain: Buffer): Buffer | Promise<Buffer> {
    const isTrial = this.#packedCount % TRIAL_EVERY === 0
    if (!this.#deflates || isTrial || plain.length < COMPRESS_BYTES_MIN) return this.pack(plain)
    this.#packedCount++
    return deflateAside(plain, DEFLATE).then(bytes => deflated(plain, bytes))
  }

  #try(plain: Buffer): Buffer {
    this.#common = commonBytes(plain)
    const packed = this.#inNibbles(plain)
    const bytes = deflateRawSync(plain, DEFLATE)
    this.#deflates = bytes.length < packed.length * DEFLATE_WORTH
    if (this.#deflates) return deflated(plain, bytes)
    return isSmaller(packed, plain) ? packed : plainNode(plain)
  }

  #inNibbles(plain: Buffer): Buffer {
    return packNibbles(plain, this.#common, KIND_NIBBLES)
  }
}

function deflated(plain: Buffer, bytes: Buffer): Buffer {
  if (!isSmaller(bytes, plain)) return plainNode(plain)
  const out = new KeyWriter(bytes.length + 16)
  out.byte(KIND_DEFLATED)
  appendVarint(out, plain.length)
  out.append(bytes)
  return out.bytes.subarray(0, out.length)
}

/** What is stored compressed is smaller by a tenth. */
const isSmaller = (packed: Buffer, plain: Buffer): boolean => packed.length <= plain.length * 0.9

const NOTHING = Buffer.alloc(0)
const COMPRESS_BYTES_MIN = 256
const TRIAL_EVERY = 64
/** Deflate is worth its time when it leaves so much of what half bytes leave. */
const DEFLATE_WORTH = 0.5
/** Measured on rows of views: level 1 is within 4 % of level 6 in size at half its time; blocks need no wide window. */
const DEFLATE = { level: 1, memLevel: 7, windowBits: 13 } as const
const deflateAside = promisify<Buffer, ZlibOptions, Buffer>(deflateRaw)
