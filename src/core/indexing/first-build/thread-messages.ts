/**
 * What is said between a first build and its threads. Pieces are handed over, not copied: a message of blocks is all of
 * their bytes in one piece and four numbers a block.
 */
import type { CutBlock } from './block-cutter.ts'
import type { TaskPiece, TaskPlan } from './build-task.ts'
import type { LatestDocuments } from './latest-rows.ts'

export type ToThread =
  /** `ahead`: pieces that may be made before one is taken. */
  | { readonly kind: 'start'; readonly plan: TaskPlan; readonly ahead: number }
  /** A piece was taken. */
  | { readonly kind: 'more' }
  /** What was wanted; undefined at the end of a run. */
  | { readonly kind: 'chunk'; readonly chunk: ArrayBuffer | undefined }

export interface BlocksMessage {
  readonly kind: 'blocks'
  /** For each block its separator, its stored form and its payload. */
  readonly bytes: ArrayBuffer
  /** For each block the lengths of these three, and its rows. */
  readonly numbers: Uint32Array
}

export type PieceMessage =
  | BlocksMessage
  | { readonly kind: 'stretches'; readonly chunk: ArrayBuffer }

export type FromThread =
  /** The program runs. */
  | { readonly kind: 'ready' }
  | PieceMessage
  | { readonly kind: 'wanted'; readonly run: number }
  | { readonly kind: 'ended'; readonly latest: LatestDocuments }

export function writeBlocks(blocks: readonly CutBlock[]): BlocksMessage {
  const numbers = new Uint32Array(blocks.length * NUMBERS)
  let length = 0
  blocks.forEach(({ separator, packed, payload, rows }, i) => {
    numbers.set([separator.length, packed.length, payload.length, rows], i * NUMBERS)
    length += separator.length + packed.length + payload.length
  })
  const bytes = new Uint8Array(length)
  let at = 0
  for (const { separator, packed, payload } of blocks) {
    for (const part of [separator, packed, payload]) {
      bytes.set(part, at)
      at += part.length
    }
  }
  return { kind: 'blocks', bytes: bytes.buffer, numbers }
}

export const pieceOf = (message: PieceMessage): TaskPiece =>
  message.kind === 'blocks'
    ? { kind: 'blocks', blocks: readBlocks(message) }
    : { kind: 'stretches', chunk: Buffer.from(message.chunk) }

function readBlocks({ bytes, numbers }: BlocksMessage): CutBlock[] {
  const blocks: CutBlock[] = []
  let at = 0
  const take = (length: number): Buffer => {
    at += length
    return Buffer.from(bytes, at - length, length)
  }
  for (let i = 0; i < numbers.length; i += NUMBERS) {
    const separator = take(numbers[i] as number)
    const packed = take(numbers[i + 1] as number)
    const payload = take(numbers[i + 2] as number)
    blocks.push({ separator, packed, payload, rows: numbers[i + 3] as number })
  }
  return blocks
}

/** The bytes in a buffer of their own, which can be handed over. */
export function ownBytes(bytes: Uint8Array): ArrayBuffer {
  const own = new ArrayBuffer(bytes.length)
  new Uint8Array(own).set(bytes)
  return own
}

const NUMBERS = 4
