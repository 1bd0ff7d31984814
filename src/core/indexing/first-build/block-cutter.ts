/**
 * Makes blocks, compressed and ready to be stored, of the rows of one tree that come in order. It knows no store and no
 * reducer, so that it can be at work in a thread of its own; what becomes of the blocks is `tree-builder.ts`'s matter.
 */
import type { BlockSize } from '../block-size.ts'
import { BlockWriter } from '../block-writer.ts'
import { shortestSeparator } from '../branch-node.ts'
import type { RowFrame } from '../row-block.ts'
import type { RowOrder } from '../row-order.ts'
import type { RowPieces } from './row-pieces.ts'

export interface CutBlock {
  /** A place not above the first row, and above all rows of the block before. */
  readonly separator: Buffer
  readonly rows: number
  /** As it is stored. */
  readonly packed: Buffer
  /** The rows as they are before compression, for reducers; empty where there are none. */
  readonly payload: Buffer
}

export interface CutterOptions {
  readonly order: RowOrder
  readonly frame: RowFrame
  readonly size: BlockSize
  readonly keepsPayload: boolean
}

export class BlockCutter {
  readonly #options: CutterOptions
  readonly #writer = new BlockWriter()
  #separator: Buffer = NOTHING
  #blocks: CutBlock[] = []
  #bytes = 0

  constructor(options: CutterOptions) {
    this.#options = options
  }

  /** There is enough to be taken. */
  get isFull(): boolean {
    return this.#bytes >= TAKEN_BYTES
  }

  /** Adds a row; the bytes of its pieces must stay as they are until the next two have come. */
  add(row: RowPieces): void {
    const writer = this.#writer
    if (writer.count > 0 && writer.byteLength + row.valueLength > this.#options.size.payloadBytes) {
      this.#cut(row)
    }
    if (row.hasSameKey && writer.count > 0) writer.repeatKey()
    else writer.addKey(row.keyBytes, row.keyStart, row.keyEnd)
    writer.addId(row.idBytes, row.idStart, row.idEnd)
    writer.addValue(row.valueBytes, row.valueStart, row.valueEnd)
  }

  /** No more rows come. */
  end(): void {
    if (this.#writer.count > 0) this.#cut(undefined)
  }

  /** The blocks that were cut since the last time. */
  take(): CutBlock[] {
    const taken = this.#blocks
    this.#blocks = []
    this.#bytes = 0
    return taken
  }

  /** Ends the block; `next` is the first row of the one after it. */
  #cut(next: RowPieces | undefined): void {
    const { order, frame, size, keepsPayload } = this.#options
    const writer = this.#writer
    const rows = writer.count
    const separator = this.#separator
    if (next !== undefined) {
      const last = order.placeOfTexts(writer.lastKey, writer.lastId, frame)
      const first = order.placeOfTexts(next.keyText, next.idText, frame)
      this.#separator = shortestSeparator(last, first)
    }
    const plain = writer.finish()
    const packed = size.packer.pack(plain)
    size.learn(plain.length, packed.length)
    const payload = keepsPayload ? plain : NOTHING
    this.#blocks.push({ separator, rows, packed, payload })
    this.#bytes += packed.length + payload.length
  }
}

const NOTHING = Buffer.alloc(0)
/** Some dozens of blocks: they go to the store in transactions, and to reducers in calls, of about so much. */
const TAKEN_BYTES = 256 * 1024
