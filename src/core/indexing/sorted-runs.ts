/**
 * Sorted runs of records in the index's own store, for first builds that do not fit in memory:
 * written once in chunks, read back chunk by chunk, merged. A run counts only once the state names
 * it; anything else under run keys is left over from a build that died and is cleared.
 */
import { assert } from '../../base/assert.ts'
import { KeyWriter } from '../../base/collate/key-writer.ts'
import type { Store } from '../../engine/engine.ts'
import { runChunkKey } from './index-keys.ts'
import { compareRecords, RECORD_HEADER_LENGTH, recordLength } from './row-records.ts'

/** Writes the records of one run; they come tree by tree, in order. */
export class RunWriter {
  readonly #store: Store
  readonly #run: number
  readonly #valueBytesMax: number
  #tree = -1
  #chunk = 0
  readonly #records = new KeyWriter(CHUNK_BYTES)
  #waiting: { key: Buffer; value: Buffer }[] = []
  #waitingBytes = 0

  constructor(store: Store, run: number, valueBytesMax: number) {
    this.#store = store
    this.#run = run
    this.#valueBytesMax = valueBytesMax
  }

  /** Adds the record bytes[0, length). */
  add(tree: number, bytes: Buffer, length = bytes.length): void {
    if (tree !== this.#tree || this.#records.length + length > CHUNK_BYTES) this.#cut(tree)
    this.#records.append(bytes, 0, length)
  }

  get isFull(): boolean {
    return this.#waitingBytes >= WRITE_BYTES
  }

  async drain(): Promise<void> {
    const batch = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    if (batch.length === 0) return
    await this.#store.write(function* (tx) {
      for (const { key, value } of batch) tx.put(key, value)
    })
  }

  async finish(): Promise<void> {
    this.#cut(this.#tree)
    await this.drain()
  }

  #cut(nextTree: number): void {
    const bytes = this.#records.copy()
    for (let at = 0; at < bytes.length; at += this.#valueBytesMax) {
      const value = bytes.subarray(at, at + this.#valueBytesMax)
      this.#waiting.push({ key: runChunkKey(this.#run, this.#tree, this.#chunk++), value })
    }
    this.#waitingBytes += bytes.length
    this.#records.reset()
    if (nextTree !== this.#tree) this.#chunk = 0
    this.#tree = nextTree
  }
}

/** Reads the records of one tree of a run. */
class RunReader {
  readonly #store: Store
  readonly #run: number
  readonly #tree: number
  #chunk = 0
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0
  /** The record at hand; undefined at the end. */
  record: Buffer | undefined

  constructor(store: Store, run: number, tree: number) {
    this.#store = store
    this.#run = run
    this.#tree = tree
  }

  /** Goes to the next record if all of it is in memory; false means `load` must be awaited. */
  advance(): boolean {
    const left = this.#bytes.length - this.#at
    if (left < RECORD_HEADER_LENGTH) return false
    const length = recordLength(this.#bytes, this.#at)
    if (left < length) return false
    this.record = this.#bytes.subarray(this.#at, this.#at + length)
    this.#at += length
    return true
  }

  /** Goes to the next record, which may lie across several chunks. */
  async load(): Promise<void> {
    do {
      const chunk = await this.#store.get(runChunkKey(this.#run, this.#tree, this.#chunk++))
      const left = this.#bytes.subarray(this.#at)
      if (chunk === undefined) {
        assert(left.length === 0, 'a run ends within a record')
        this.record = undefined
        return
      }
      this.#bytes = left.length === 0 ? chunk : Buffer.concat([left, chunk])
      this.#at = 0
    } while (!this.advance())
  }
}

/** The records of one tree of several runs, merged, in arrays. */
export async function* mergeRuns(
  store: Store,
  runs: readonly number[],
  tree: number,
): AsyncGenerator<Buffer[]> {
  const readers: RunReader[] = []
  for (const run of runs) {
    const reader = new RunReader(store, run, tree)
    await reader.load()
    if (reader.record !== undefined) readers.push(reader)
  }
  readers.sort((one, two) => compareRecords(one.record as Buffer, two.record as Buffer))
  let batch: Buffer[] = []
  while (readers.length > 0) {
    const first = readers[0] as RunReader
    batch.push(first.record as Buffer)
    if (!first.advance()) {
      yield batch
      batch = []
      await first.load()
    }
    sinkFirst(readers)
  }
  if (batch.length > 0) yield batch
}

/** The first reader moved on: puts it where it belongs now, or takes it out at its end. */
function sinkFirst(readers: RunReader[]): void {
  const moved = readers[0] as RunReader
  const { record } = moved
  if (record === undefined) {
    readers.shift()
    return
  }
  let at = 1
  while (
    at < readers.length &&
    compareRecords((readers[at] as RunReader).record as Buffer, record) < 0
  ) {
    readers[at - 1] = readers[at] as RunReader
    at++
  }
  readers[at - 1] = moved
}

const CHUNK_BYTES = 256 * 1024
const WRITE_BYTES = 4 * 1024 * 1024
