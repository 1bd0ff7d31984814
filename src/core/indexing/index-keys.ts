/**
 * Every key of an index store.
 *
 *     00                        the state (index-state.ts)
 *     01 tree(2)                the root of a tree
 *     02 node(6)                a node
 *     02 node(6) part(2)        a part of a node that is longer than the engine's values
 *     03 run(4) tree(2) chunk(4)   sorted rows on their way into a first build
 *     04                        the incarnation of the index that these rows are for
 *     05                        who is at work on it, where several nodes could be
 */
import type { Range } from '../../engine/engine.ts'

export const STATE_KEY: Buffer = Buffer.of(0)
export const RUNS_OF_KEY: Buffer = Buffer.of(4)
export const LEASE_KEY: Buffer = Buffer.of(5)

export function rootKey(tree: number): Buffer {
  const key = Buffer.allocUnsafe(3)
  key[0] = 1
  key.writeUInt16BE(tree, 1)
  return key
}

export function nodeKey(node: number): Buffer {
  const key = Buffer.allocUnsafe(7)
  key[0] = 2
  key.writeUIntBE(node, 1, 6)
  return key
}

export function nodePartKey(node: number, part: number): Buffer {
  const key = Buffer.allocUnsafe(9)
  key[0] = 2
  key.writeUIntBE(node, 1, 6)
  key.writeUInt16BE(part, 7)
  return key
}

export function runChunkKey(run: number, tree: number, chunk: number): Buffer {
  const key = Buffer.allocUnsafe(11)
  key[0] = 3
  key.writeUInt32BE(run, 1)
  key.writeUInt16BE(tree, 5)
  key.writeUInt32BE(chunk, 7)
  return key
}

export const runRange = (run: number): Range => ({
  start: runChunkKey(run, 0, 0),
  end: runChunkKey(run + 1, 0, 0),
})

export const ALL_ROOTS: Range = { start: Buffer.of(1), end: Buffer.of(2) }
export const ALL_NODES: Range = { start: Buffer.of(2), end: Buffer.of(3) }
export const ALL_RUNS: Range = { start: Buffer.of(3), end: Buffer.of(4) }
