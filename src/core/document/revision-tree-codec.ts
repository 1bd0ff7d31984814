/**
 * Revision trees as bytes. Format 1:
 *
 *     1  runs:varint  run*
 *     run = parent+1:varint  top:varint  count*2+loose:varint  ids  payloadBytes:varint  payloads
 *     ids = 16 bytes each, newest first; or, if `loose`, each as length:varint and bytes
 *
 * Decoding copies nothing: the tree holds views on the bytes, which must not change. Bytes that do
 * not fit fail with `storage_corrupt`.
 */
import { ByteReader, ByteWriter } from '../../base/bytes.ts'
import { Failure } from '../../base/errors.ts'
import type { Run } from './revision-run.ts'
import type { RevisionTree } from './revision-tree.ts'

const FORMAT = 1

export function encodeTree(tree: RevisionTree): Buffer {
  const writer = new ByteWriter(tree.runs.reduce((sum, run) => sum + bytesMaxOf(run), 16))
  writer.u8(FORMAT).varint(tree.runs.length)
  for (const run of tree.runs) writeRun(writer, run)
  return writer.finish()
}

export function decodeTree(bytes: Buffer): RevisionTree {
  const reader = new ByteReader(bytes)
  const tree = readTree(reader)
  if (!reader.atEnd) throw corrupt('bytes after a revision tree')
  return tree
}

/** A tree that is part of a longer record. */
export function readTree(reader: ByteReader): RevisionTree {
  if (reader.u8() !== FORMAT) throw corrupt('unknown format of a revision tree')
  const count = reader.varint()
  const runs: Run[] = []
  for (let index = 0; index < count; index++) {
    const run = readRun(reader)
    if (run.parent >= index || run.count === 0) throw corrupt('a malformed revision tree')
    runs.push(run)
  }
  return { runs }
}

const corrupt = (reason: string) => new Failure('storage_corrupt', { reason })

function bytesMaxOf(run: Run): number {
  const idBytes = Buffer.isBuffer(run.ids)
    ? run.ids.length
    : run.ids.reduce((sum, id) => sum + id.length + 8, 0)
  return 32 + idBytes + run.payloads.length
}

function writeRun(writer: ByteWriter, run: Run): void {
  const { ids } = run
  writer.varint(run.parent + 1).varint(run.top)
  writer.varint(run.count * 2 + (Buffer.isBuffer(ids) ? 0 : 1))
  if (Buffer.isBuffer(ids)) writer.bytes(ids)
  else for (const id of ids) writer.run(id)
  writer.run(run.payloads)
}

function readRun(reader: ByteReader): Run {
  const parent = reader.varint() - 1
  const top = reader.varint()
  const shape = reader.varint()
  const count = Math.floor(shape / 2)
  const ids = shape % 2 === 0 ? reader.bytes(count * 16) : readLoose(reader, count)
  return { parent, top, count, ids, payloads: reader.run() }
}

function readLoose(reader: ByteReader, count: number): Buffer[] {
  const ids: Buffer[] = []
  for (let index = 0; index < count; index++) ids.push(reader.run())
  return ids
}
