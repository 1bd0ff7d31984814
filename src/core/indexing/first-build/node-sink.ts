/**
 * Where a first build puts its nodes: gives out their numbers and writes them in transactions of a
 * few megabytes. Nothing refers to them until the roots are written, so a build that dies leaves
 * only nodes that the next one clears.
 *
 * Several trees are built at the same time; each takes numbers by the hundred, so that its nodes mostly lie side by
 * side, as whoever reads them one after the other wants it.
 */
import type { Store } from '../../../engine/engine.ts'
import { putNode } from '../node-store.ts'

export class NodeSink {
  readonly #store: Store
  readonly #valueBytesMax: number
  #nextNode: number
  #waiting: { node: number; packed: Buffer }[] = []
  #waitingBytes = 0

  constructor(store: Store, valueBytesMax: number, nextNode: number) {
    this.#store = store
    this.#valueBytesMax = valueBytesMax
    this.#nextNode = nextNode
  }

  get nextNode(): number {
    return this.#nextNode
  }

  /** The first of so many numbers. */
  takeNumbers(count: number): number {
    const first = this.#nextNode
    this.#nextNode += count
    return first
  }

  put(node: number, packed: Buffer): void {
    this.#waiting.push({ node, packed })
    this.#waitingBytes += packed.length
  }

  async drain(bytesMax = WRITE_BYTES): Promise<void> {
    if (this.#waitingBytes <= bytesMax) return
    const batch = this.#waiting.sort((one, two) => one.node - two.node)
    this.#waiting = []
    this.#waitingBytes = 0
    const valueBytesMax = this.#valueBytesMax
    await this.#store.write(function* (tx) {
      for (const { node, packed } of batch) putNode(tx, node, packed, valueBytesMax)
    })
  }
}

/** The nodes of one tree. */
export class NodeNumbers {
  readonly #sink: NodeSink
  #next = 0
  #end = 0

  constructor(sink: NodeSink) {
    this.#sink = sink
  }

  put(packed: Buffer): number {
    if (this.#next === this.#end) {
      this.#next = this.#sink.takeNumbers(NUMBERS_AT_ONCE)
      this.#end = this.#next + NUMBERS_AT_ONCE
    }
    this.#sink.put(this.#next, packed)
    return this.#next++
  }

  drain(): Promise<void> {
    return this.#sink.drain()
  }
}

const NUMBERS_AT_ONCE = 256
const WRITE_BYTES = 4 * 1024 * 1024
