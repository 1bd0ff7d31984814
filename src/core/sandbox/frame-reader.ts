/**
 * Cuts the bytes of a sandbox process into reply frames.
 *
 * Reply: u32 bytes that follow, u8 kind, u32 bytes of the header, header JSON, body. Little endian.
 * A frame inside one chunk is not copied. A frame longer than the bound throws a GrammarError, as the
 * length comes from a process that runs strangers' code.
 */
import { Failure } from '../../base/errors.ts'
import { GrammarError } from './reply-text.ts'

export interface ReplyFrame {
  readonly kind: ReplyKind
  readonly log: readonly string[]
  /** The process asks to be replaced. */
  readonly retire: boolean
  readonly body: Buffer
}

export const REPLY_KINDS = ['ready', 'beat', 'done', 'failed', 'start', 'chunks'] as const
export type ReplyKind = (typeof REPLY_KINDS)[number]

export class FrameReader {
  readonly #bytesMax: number
  readonly #prefix = Buffer.alloc(4)
  #prefixLength = 0
  #frame: Buffer | undefined
  #filled = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Takes a chunk, answers the frames it completes. */
  push(chunk: Buffer): readonly ReplyFrame[] {
    const frames: ReplyFrame[] = []
    for (let at = 0; at < chunk.length; ) {
      if (this.#frame === undefined) {
        at = this.#readPrefix(chunk, at)
        if (this.#prefixLength < 4) break
        const length = this.#length()
        if (chunk.length - at >= length) {
          frames.push(parseFrame(chunk.subarray(at, at + length)))
          at += length
          this.#prefixLength = 0
          continue
        }
        this.#frame = Buffer.allocUnsafe(length)
        this.#filled = 0
      }
      const copied = chunk.copy(this.#frame, this.#filled, at)
      at += copied
      this.#filled += copied
      if (this.#filled < this.#frame.length) break
      frames.push(parseFrame(this.#frame))
      this.#frame = undefined
      this.#prefixLength = 0
    }
    return frames
  }

  #readPrefix(chunk: Buffer, at: number): number {
    const copied = chunk.copy(this.#prefix, this.#prefixLength, at, at + 4 - this.#prefixLength)
    this.#prefixLength += copied
    return at + copied
  }

  #length(): number {
    const length = this.#prefix.readUInt32LE(0)
    if (length < 5 || length > this.#bytesMax) throw new GrammarError('a frame of wrong length')
    return length
  }
}

/** Request: u32 bytes that follow, u32 bytes of the header, header JSON, body parts. */
export function requestFrame(
  header: object,
  parts: readonly Uint8Array[],
  bytesMax: number,
): Buffer {
  const head = Buffer.from(JSON.stringify(header))
  let length = 8 + head.length
  for (const part of parts) length += part.length
  if (length > bytesMax) throw new Failure('limit_exceeded', { reason: 'a batch is too large' })
  const frame = Buffer.allocUnsafe(length)
  frame.writeUInt32LE(length - 4, 0)
  frame.writeUInt32LE(head.length, 4)
  frame.set(head, 8)
  let at = 8 + head.length
  for (const part of parts) {
    frame.set(part, at)
    at += part.length
  }
  return frame
}

function parseFrame(frame: Buffer): ReplyFrame {
  const kind = REPLY_KINDS[frame[0] as number]
  const bodyAt = 5 + frame.readUInt32LE(1)
  if (kind === undefined || bodyAt > frame.length) throw new GrammarError('a frame of wrong form')
  const body = frame.subarray(bodyAt)
  if (bodyAt === 5) return { kind, log: [], retire: false, body }
  const header = parseHeader(frame.subarray(5, bodyAt))
  const log = Array.isArray(header.log) ? header.log.filter(line => typeof line === 'string') : []
  return { kind, log, retire: header.retire === true, body }
}

function parseHeader(bytes: Buffer): Record<string, unknown> {
  let header: unknown
  try {
    header = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new GrammarError('a header that is not JSON')
  }
  if (typeof header !== 'object' || header === null)
    throw new GrammarError('a header of wrong form')
  return header as Record<string, unknown>
}
