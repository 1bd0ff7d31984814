/**
 * Which attachments are stored compressed, and the compressor. Its bytes must be those of stock
 * zlib, since the MD5 of the stored bytes is part of the revision id: Node's own zlib is another
 * one and gives others, pako does not.
 */
import pako from 'pako'
import { assert } from '../../base/assert.ts'

export const DEFAULT_COMPRESSIBLE_TYPES =
  'text/*, application/javascript, application/json, application/xml'
export const DEFAULT_COMPRESSION_LEVEL = 8

/**
 * A test for content types, from a list with `*` in it. Parameters after `;` and case do not
 * matter.
 */
export function compressibleTypes(list: string): (contentType: string) => boolean {
  const patterns = list
    .split(/[\s,]+/)
    .filter(pattern => pattern !== '')
    .map(pattern => pattern.split('*').map(escapeRegExp).join('.*'))
  if (patterns.length === 0) return () => false
  const expression = new RegExp(`^\\s*(?:${patterns.join('|')})(?:\\s*;.*)?\\s*$`, 'is')
  return contentType => expression.test(contentType)
}

/** Compresses a stream piece by piece; the result does not depend on how it is cut. */
export class GzipCompressor {
  readonly #deflate: pako.Deflate
  #out: Buffer[] = []
  #isFinished = false

  constructor(level = DEFAULT_COMPRESSION_LEVEL) {
    const options = { gzip: true, level, windowBits: 15, memLevel: 8, chunkSize: OUT_BYTES }
    // pako's own typing of the options lacks `gzip`
    this.#deflate = new pako.Deflate(options as pako.DeflateOptions)
    this.#deflate.onData = chunk => {
      this.#out.push(Buffer.from(chunk as Uint8Array))
    }
    // the compressor would join all it ever gave; it has handed everything on already
    this.#deflate.onEnd = () => {}
  }

  /** Takes plain bytes, gives the compressed ones that are ready. */
  push(bytes: Uint8Array): Buffer[] {
    assert(!this.#isFinished, 'compressor is finished')
    // no bytes at all would end the stream of this pako
    if (bytes.length > 0) this.#run(bytes, false)
    return this.#take()
  }

  /** The rest. */
  finish(): Buffer[] {
    assert(!this.#isFinished, 'compressor is finished')
    this.#isFinished = true
    this.#run(new Uint8Array(0), true)
    return this.#take()
  }

  #run(bytes: Uint8Array, isLast: boolean): void {
    const done = this.#deflate.push(bytes, isLast)
    assert(done, `compressor failed: ${this.#deflate.err}`)
  }

  #take(): Buffer[] {
    const out = this.#out
    this.#out = []
    return out
  }
}

/** A whole content at once. */
export function gzip(bytes: Uint8Array, level = DEFAULT_COMPRESSION_LEVEL): Buffer {
  const compressor = new GzipCompressor(level)
  return Buffer.concat([...compressor.push(bytes), ...compressor.finish()])
}

const OUT_BYTES = 1 << 16

const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
