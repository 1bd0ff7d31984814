/**
 * How large blocks are cut. What counts is the size after compression (a page of the embedded engine holds 4,096
 * bytes, and a value over half of that takes whole pages), so the cut follows the ratio seen so far.
 */
export class BlockSize {
  /** Of branches, which are not compressed. */
  readonly branchBytes: number
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
 * Two to a page of the embedded engine. Measured against whole pages: the ratio is the same (0.306 and 0.302), and a
 * lookup or a changed row unpacks and packs half as much.
 */
const BLOCK_BYTES = 2000
const BRANCH_BYTES = 8000
/** However long the separators and reductions, a branch has so many children. */
export const BRANCH_CHILDREN_MIN = 8

const RATIO_AT_FIRST = 0.4
const LEARN_RATE = 0.3
/** Leaves room for blocks that compress a little worse than the ones before. */
const FILL = 0.93
const PAYLOAD_BYTES_MAX = 64 * 1024
