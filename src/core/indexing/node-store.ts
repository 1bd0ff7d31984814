/**
 * Nodes of index trees as engine values: keys, compression, splitting of values longer than the
 * engine takes, and a cache of decoded nodes.
 *
 * A node's number is given once and its bytes never change, so a cached node is right for as long
 * as its index lives; `incarnation` tells apart indexes that lived under the same store id one
 * after the other.
 *
 * Format of a value: a byte for the kind (0 plain, 1 raw deflate, 2 in parts, 3 half bytes), then for 1 the
 * plain length; for 2 the number of parts, which lie under the node's key and two more bytes each. Which
 * kind a block gets is `pack-block.ts`'s matter.
 */
import { inflateRawSync } from 'node:zlib'
import { KeyWriter } from '../../base/collate/key-writer.ts'
import { Failure } from '../../base/errors.ts'
import type { ReadTx, Steps, WriteTx } from '../../engine/engine.ts'
import { BranchNode } from './branch-node.ts'
import { appendVarint, ByteReader } from './byte-codec.ts'
import { nodeKey, nodePartKey } from './index-keys.ts'
import type { IndexTree } from './index-tree.ts'
import { unpackNibbles } from './nibble-codec.ts'
import { RowBlock } from './row-block.ts'

/**
 * Decoded nodes, for a process. When there are too many those go first that were not used since they were looked at
 * last: a use costs a mark, not a move within a list.
 */
export class NodeCache {
  readonly #bytesMax: number
  /** By incarnation and number. */
  readonly #indexes = new Map<string, Map<number, CachedNode>>()
  /** In the order in which they will be looked at. */
  readonly #queue = new Set<CachedNode>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** About the memory that its nodes take. */
  get bytes(): number {
    return this.#bytes
  }

  get(incarnation: string, number: number): RowBlock | BranchNode | undefined {
    const cached = this.#indexes.get(incarnation)?.get(number)
    if (cached === undefined) return undefined
    cached.isUsed = true
    return cached.node
  }

  set(incarnation: string, number: number, node: RowBlock | BranchNode): void {
    const known = this.#indexes.get(incarnation)?.get(number)
    if (known !== undefined) this.#drop(known)
    const cached = { incarnation, number, node, isUsed: false }
    const nodes = this.#indexes.get(incarnation)
    if (nodes === undefined) this.#indexes.set(incarnation, new Map([[number, cached]]))
    else nodes.set(number, cached)
    this.#queue.add(cached)
    this.#bytes += node.byteLength
    if (this.#bytes > this.#bytesMax) this.#makeRoom()
  }

  #makeRoom(): void {
    for (const cached of this.#queue) {
      if (this.#bytes <= this.#bytesMax) break
      if (cached.isUsed) {
        // Behind all others, and gone the next time unless it is used again.
        cached.isUsed = false
        this.#queue.delete(cached)
        this.#queue.add(cached)
      } else this.#drop(cached)
    }
  }

  #drop(cached: CachedNode): void {
    const nodes = this.#indexes.get(cached.incarnation)
    nodes?.delete(cached.number)
    if (nodes?.size === 0) this.#indexes.delete(cached.incarnation)
    this.#queue.delete(cached)
    this.#bytes -= cached.node.byteLength
  }
}

interface CachedNode {
  readonly incarnation: string
  readonly number: number
  readonly node: RowBlock | BranchNode
  isUsed: boolean
}

/** Reads nodes of one tree within one transaction. */
export class NodeReader {
  readonly tree: IndexTree
  readonly #tx: ReadTx | undefined
  readonly #cache: NodeCache
  readonly #incarnation: string
  /**
   * The nodes used last: a query goes down to the same block several times, also when the cache is
   * tiny.
   */
  #recent: Map<number, RowBlock | BranchNode> | undefined

  /** @param tx undefined: of the nodes in the cache alone; the first other one is the last step (`knownResult`) */
  constructor(tx: ReadTx | undefined, tree: IndexTree, cache: NodeCache, incarnation: string) {
    this.tree = tree
    this.#tx = tx
    this.#cache = cache
    this.#incarnation = incarnation
  }

  *block(node: number): Steps<RowBlock> {
    const known = this.known(node)
    if (known !== undefined) return known as RowBlock
    const block = new RowBlock(yield* this.#read(node), this.tree.frame)
    this.#keep(node, block)
    return block
  }

  *branch(node: number): Steps<BranchNode> {
    const known = this.known(node)
    if (known !== undefined) return known as BranchNode
    const branch = new BranchNode(yield* this.#read(node), this.tree.reducers.length)
    this.#keep(node, branch)
    return branch
  }

  /** A node that need not be read: spares those who go down often a step each. */
  known(node: number): RowBlock | BranchNode | undefined {
    return this.#recent?.get(node) ?? this.#cache.get(this.#incarnation, node)
  }

  *#read(node: number): Steps<Buffer> {
    const tx = this.#tx
    if (tx !== undefined) return yield* readNode(tx, node)
    for (;;) yield NOT_KNOWN
  }

  #keep(node: number, decoded: RowBlock | BranchNode): void {
    this.#cache.set(this.#incarnation, node, decoded)
    if (this.#recent === undefined || this.#recent.size >= RECENT_MAX) this.#recent = new Map()
    this.#recent.set(node, decoded)
  }
}

/** What a reader without a transaction came to; undefined when it needed more nodes than the cache had. */
export function knownResult<T>(steps: Steps<T>): { readonly value: T } | undefined {
  const step = steps.next()
  if (step.done === true) return step
  steps.return(undefined as T)
  return undefined
}

/** The plain bytes; those of a compressed node are good until the next one is read. */
function* readNode(tx: ReadTx, node: number): Steps<Buffer> {
  const value = yield* tx.get(nodeKey(node))
  if (value === undefined) throw corrupt(node)
  if (value[0] !== KIND_PARTS) return unpack(value, node)
  const count = new ByteReader(value, 1).varint()
  const keys = Array.from({ length: count }, (_, part) => nodePartKey(node, part))
  const parts = yield* tx.getMany(keys)
  const whole = parts.map(part => {
    if (part === undefined) throw corrupt(node)
    return part
  })
  return unpack(Buffer.concat(whole), node)
}

function unpack(packed: Buffer, node: number): Buffer {
  if (packed[0] === KIND_PLAIN) return packed.subarray(1)
  if (packed[0] === KIND_NIBBLES) {
    const plain = unpackNibbles(packed, 1)
    if (plain === undefined) throw corrupt(node)
    return plain
  }
  if (packed[0] !== KIND_DEFLATED) throw corrupt(node)
  const reader = new ByteReader(packed, 1)
  const length = reader.varint()
  try {
    return inflateRawSync(packed.subarray(reader.at), { chunkSize: Math.max(64, length) })
  } catch (error) {
    throw new Failure('storage_corrupt', { subject: `index node ${node}` }, error)
  }
}

const corrupt = (node: number): Failure =>
  new Failure('storage_corrupt', { subject: `index node ${node}` })

/** The stored form of a node that is not compressed. */
export const plainNode = (payload: Buffer): Buffer =>
  Buffer.concat([Uint8Array.of(KIND_PLAIN), payload])

export function putNode(tx: WriteTx, node: number, packed: Buffer, valueBytesMax: number): void {
  if (packed.length <= valueBytesMax) {
    tx.put(nodeKey(node), packed)
    return
  }
  const count = Math.ceil(packed.length / valueBytesMax)
  const head = new KeyWriter()
  head.byte(KIND_PARTS)
  appendVarint(head, count)
  tx.put(nodeKey(node), head.copy())
  for (let part = 0; part < count; part++) {
    const start = part * valueBytesMax
    tx.put(nodePartKey(node, part), packed.subarray(start, start + valueBytesMax))
  }
}

/** `payloadLength`: a node that fits in a value uncompressed has no parts, and most do. */
export function deleteNode(
  tx: WriteTx,
  node: number,
  payloadLength: number,
  valueBytesMax: number,
): void {
  if (payloadLength < valueBytesMax) tx.delete(nodeKey(node))
  else tx.deleteRange({ start: nodeKey(node), end: nodeKey(node + 1) })
}

const RECENT_MAX = 8
const NOT_KNOWN = Symbol('a node that is not in the cache')
export const KIND_PLAIN = 0
export const KIND_DEFLATED = 1
const KIND_PARTS = 2
export const KIND_NIBBLES = 3
