/**
 * Sorted runs of records, for first builds that do not fit in memory: written once in chunks, read back chunk by chunk,
 * merged. Making chunks and merging them knows no store: whoever merges asks for the chunk he needs next and is given
 * it. A run counts only once the state names it; anything else under run keys is left over from a build that died and
 * is cleared.
 */
import { assert } from '../../base/assert.ts'
import { KeyWriter } from '../../base/collate/key-writer.ts'
import type { Store } from '../../engine/engine.ts'
import { runChunkKey } from './index-keys.ts'
import { compareRecords, RECORD_HEADER_LENGTH, recordLength } from './row-records.ts'

/** Collects records, in order, for chunks of one tree of a run. */
export class ChunkWriter {
  readonly #records = new KeyWriter(CHUNK_BYTES)

  /** There is enough to be taken. */
  get isFull(): boolean {
    return this.#records.length >= CHUNK_BYTES
  }

  get isEmpty(): boolean {
    return this.#records.length === 0
  }

  /** Adds the record bytes[0, length). */
  add(bytes: Buffer, length = bytes.length): void {
    this.#records.append(bytes, 0, length)
  }

  take(): Buffer {
    const { bytes, length } = this.#records
    const chunk = Buffer.allocUnsafeSlow(length)
    bytes.copy(chunk, 0, 0, length)
    this.#records.reset()
    return chunk
  }
}

/** Writes the chunks of one run; those of each tree come in order. */
export class RunWriter {
  readonly #store: Store
  readonly #run: number
  readonly #valueBytesMax: number
  readonly #chunkCounts = new Map<number, number>()
  #waiting: { key: Buffer; value: Buffer }[] = []
  #waitingBytes = 0

  constructor(store: Store, run: number, valueBytesMax: number) {
    this.#store = store
    this.#run = run
    this.#valueBytesMax = valueBytesMax
  }

  async add(tree: number, chunk: Buffer): Promise<void> {
    let count = this.#chunkCounts.get(tree) ?? 0
    for (let at = 0; at < chunk.length; at += this.#valueBytesMax) {
      const value = chunk.subarray(at, at + this.#valueBytesMax)
      this.#waiting.push({ key: runChunkKey(this.#run, tree, count++), value })
    }
    this.#chunkCounts.set(tree, count)
    this.#waitingBytes += chunk.length
    if (this.#waitingBytes >= WRITE_BYTES) await this.finish()
  }

  async finish(): Promise<void> {
    const batch = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    if (batch.length === 0) return
    await this.#store.write(function* (tx) {
      for (const { key, value } of batch) tx.put(key, value)
    })
  }
}

/** Reads the chunks of one tree of runs, one after the other. */
export class RunChunks {
  readonly #store: Store
  readonly #tree: number
  readonly #next = new Map<number, number>()

  constructor(store: Store, tree: number) {
    this.#store = store
    this.#tree = tree
  }

  /** Undefined at the end of the run. */
  async next(run: number): Promise<Buffer | undefined> {
    const chunk = this.#next.get(run) ?? 0
    this.#next.set(run, chunk + 1)
    return await this.#store.get(runChunkKey(run, this.#tree, chunk))
  }
}

/** Yields the number of a run to be given its next chunk, undefined at the end of the run. */
export type Chunked<T> = Generator<number, T, Buffer | undefined>

/** The records of one run. */
class RunReader {
  readonly #run: number
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0
  /** The record at hand; undefined at the end. */
  record: Buffer | undefined

  constructor(run: number) {
    this.#run = run
  }

  /** Goes to the next record if all of it is in memory; false means that `load` must be gone through. */
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
  *load(): Chunked<void> {
    do {
      const chunk = yield this.#run
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

/** The records of one tree of several runs, in order. */
export class RunMerge {
  readonly #readers: RunReader[]

  private constructor(readers: RunReader[]) {
    this.#readers = readers
  }

  static *open(runs: readonly number[]): Chunked<RunMerge> {
    const readers: RunReader[] = []
    for (const run of runs) {
      const reader = new RunReader(run)
      yield* reader.load()
      if (reader.record !== undefined) readers.push(reader)
    }
    readers.sort((one, two) => compareRecords(one.record as Buffer, two.record as Buffer))
    return new RunMerge(readers)
  }

  /** The record at hand; undefined at the end. */
  get record(): Buffer | undefined {
    return this.#readers[0]?.record
  }

  /** Goes to the next record; false means that `load` must be gone through first. */
  advance(): boolean {
    const first = this.#readers[0] as RunReader
    if (!first.advance()) return false
    sinkFirst(this.#readers)
    return true
  }

  *load(): Chunked<void> {
    yield* (this.#readers[0] as RunReader).load()
    sinkFirst(this.#readers)
  }
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
