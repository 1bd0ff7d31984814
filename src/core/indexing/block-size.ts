/**
 * How large blocks are cut. What counts is the size after compression (a page of the embedded
 * engine holds 4,096 bytes, and a value over half of that takes whole pages), so the cut follows
 * the ratio seen so far.
 */
import { BlockPacker } from './pack-block.ts'

export class BlockSize {
  /** Of branches, which are not compressed. */
  readonly branchBytes: number
  /** Follows what it saw too. */
  readonly packer = new BlockPacker()
  readonly #storedBytes: number
  #ratio = RATIO_AT_FIRST

  constructor({ blockBytes = BLOCK_BYTES, branchBytes = BRANCH_BYTES }: NodeBytes = {}) {
    this.#storedBytes = blockBytes
    this.branchBytes = branchBytes
  }

  /** Rows are collected up to so many plain bytes. */
  get payloadBytes(): number {
    const wanted = (this.#storedBytes * FILL) / this.#ratio
    return Math.min(PAYLOAD_BYTES_MAX, Math.max(this.#storedBytes * FILL, wanted))
  }

  /** Tells what became of blocks that were cut. */
  learn(payloadBytes: number, storedBytes: number): void {
    if (payloadBytes < this.#storedBytes) return
    this.#ratio = this.#ratio * (1 - LEARN_RATE) + (storedBytes / payloadBytes) * LEARN_RATE
  }
}

/** Wanted sizes of stored nodes; tests use small ones to get high trees from few rows. */
export interface NodeBytes {
  readonly blockBytes?: number | undefined
  readonly branchBytes?: number | undefined
}

/**
 * A page of the embedded engine less its header: such a value has a page of its own, which is free
 * again as soon as the node is replaced. Half the size, two to a page, was measured too (100,000
 * rows, 1,200 of 20,000 documents changed, interleaved): changes take a sixth less CPU time, but
 * node numbers only grow, so half-empty pages are never filled again: 161 bytes a row against 90.
 */
const BLOCK_BYTES = 4080
const BRANCH_BYTES = 8000
/** However long the separators and reductions, a branch has so many children. */
export const BRANCH_CHILDREN_MIN = 8

const RATIO_AT_FIRST = 0.55
const LEARN_RATE = 0.3
/** Leaves room for blocks that compress a little worse than the ones before. */
const FILL = 0.93
const PAYLOAD_BYTES_MAX = 64 * 1024
