/**
 * Sorted runs of rows (`row-stretches.ts`), for first builds that do not fit in memory: written once in chunks, read back
 * chunk by chunk, merged. Merging knows no store: whoever merges asks for the chunk he needs next and is given it. A run
 * counts only once the state names it; anything else under run keys is left over from a build that died and is cleared.
 */
import { assert } from '../../../base/assert.ts'
import type { Store } from '../../../engine/engine.ts'
import { runChunkKey } from '../index-keys.ts'
import { INCARNATION_LENGTH } from '../index-tree.ts'
import type { RowPieces } from './row-pieces.ts'
import {
  comparePrefixes,
  compareRows,
  type Prefix,
  STRETCH_FORMAT,
  StretchReader,
} from './row-stretches.ts'

/** Says whose the runs of a store are, and how they are written. */
export const encodeRunsOf = (incarnation: string): Buffer =>
  Buffer.concat([Buffer.of(STRETCH_FORMAT), Buffer.from(incarnation, 'latin1')])

/** The incarnation; undefined when they were written in another way and are of no use. */
export const decodeRunsOf = (mark: Buffer): string | undefined =>
  mark.length === INCARNATION_LENGTH + 1 && mark[0] === STRETCH_FORMAT
    ? mark.toString('latin1', 1)
    : undefined

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

/** The rows of one run. */
class RunReader extends StretchReader {
  readonly #run: number
  isEnded = false

  constructor(run: number) {
    super()
    this.#run = run
  }

  /** Goes to the next row where `advance` could not. */
  *load(): Chunked<void> {
    do {
      const chunk = yield this.#run
      if (chunk === undefined) {
        assert(this.isDone, 'a run ends within a stretch')
        this.isEnded = true
        return
      }
      this.give(chunk)
    } while (!this.advance())
  }
}

/** The rows of one tree of several runs, in order. */
export class RunMerge {
  readonly #hasWireIds: boolean
  /** By the rows they stand at. */
  readonly #readers: RunReader[]
  /** All rows of the first reader's stretch come before those of the others. */
  #isAlone = false
  #continues = false

  private constructor(readers: RunReader[], hasWireIds: boolean) {
    this.#readers = readers
    this.#hasWireIds = hasWireIds
  }

  static *open(runs: readonly number[], hasWireIds: boolean): Chunked<RunMerge> {
    const readers: RunReader[] = []
    for (const run of runs) {
      const reader = new RunReader(run)
      yield* reader.load()
      if (!reader.isEnded) readers.push(reader)
    }
    readers.sort((one, two) => compareRows(one, two, hasWireIds))
    const merge = new RunMerge(readers, hasWireIds)
    merge.#lookAround()
    return merge
  }

  get isDone(): boolean {
    return this.#readers.length === 0
  }

  /** The row at hand has prefix and key of the one before. */
  get continues(): boolean {
    return this.#continues
  }

  /** The row at hand. */
  fill(row: RowPieces): void {
    this.#readers[0]?.fill(row)
    row.hasSameKey = this.#continues
  }

  /** Of the row at hand. */
  get prefix(): Prefix {
    const { bytes, prefixStart: start, prefixEnd: end } = this.#readers[0] as RunReader
    return { bytes, start, end }
  }

  /** Goes to the next row; false means that `load` must be gone through first. */
  advance(): boolean {
    const first = this.#readers[0] as RunReader
    const { stretch } = first
    if (!first.advance()) return false
    const isSame = first.stretch === stretch
    if (!(isSame && this.#isAlone)) this.#settle(first)
    this.#continues = isSame && this.#readers[0] === first
    return true
  }

  *load(): Chunked<void> {
    const first = this.#readers[0] as RunReader
    yield* first.load()
    this.#settle(first)
    this.#continues = false
  }

  /** The first reader moved on: puts it where it belongs now, or takes it out at its end. */
  #settle(moved: RunReader): void {
    const readers = this.#readers
    if (moved.isEnded) readers.shift()
    else {
      let at = 1
      for (; at < readers.length; at++) {
        const next = readers[at] as RunReader
        if (compareRows(next, moved, this.#hasWireIds) > 0) break
        readers[at - 1] = next
      }
      readers[at - 1] = moved
    }
    this.#lookAround()
  }

  #lookAround(): void {
    const [first, second] = this.#readers
    this.#isAlone =
      first !== undefined && (second === undefined || comparePrefixes(first, second) < 0)
  }
}

const WRITE_BYTES = 4 * 1024 * 1024
