/**
 * Where a first build puts its nodes: gives them their numbers and writes them in transactions of a
 * few megabytes. Nothing refers to them until the roots are written, so a build that dies leaves
 * only nodes that the next one clears.
 */
import type { Store } from '../../engine/engine.ts'
import { putNode } from './node-store.ts'

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

  put(packed: Buffer): number {
    const node = this.#nextNode++
    this.#waiting.push({ node, packed })
    this.#waitingBytes += packed.length
    return node
  }

  async drain(bytesMax = WRITE_BYTES): Promise<void> {
    if (this.#waitingBytes <= bytesMax) return
    const batch = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    const valueBytesMax = this.#valueBytesMax
    await this.#store.write(function* (tx) {
      for (const { node, packed } of batch) putNode(tx, node, packed, valueBytesMax)
    })
  }
}

const WRITE_BYTES = 4 * 1024 * 1024
