/**
 * Which stores there are and which file holds each: `catalog.mdb`, one row per store.
 *
 *   key    the store's id
 *   byte 0      'L' live   'D' being deleted
 *   bytes 1-6   generation of its file (that file may say that it moved on; it is right)
 *   bytes 7-12  generation a compaction is making, 0 when there is none
 *   bytes 13-16 process id of that compaction, or 0
 *
 * Being one LMDB file, it makes creating, deleting and claiming a compaction atomic among processes
 * and safe against their death. Generations come from a counter here, a block at a time, and are
 * never used twice.
 */
import path from 'node:path'
import type { StoreId } from '../engine.ts'
import { type EnvironmentWriter, LmdbEnvironment } from './lmdb-environment.ts'
import { ReservedKey } from './reserved-keys.ts'
import { CATALOG_FILE } from './store-files.ts'

export interface CatalogRow {
  readonly deleting: boolean
  readonly generation: number
  readonly compactingTo: number
  readonly compactingPid: number
}

const COUNTER_KEY = new ReservedKey(Buffer.from('g'))
const GENERATION_BLOCK = 64
const FIRST_ID = Buffer.from([0x00])
const BEHIND_IDS = Buffer.from([0xff])

export class StoreCatalog {
  readonly #environment: LmdbEnvironment
  #nextGeneration = 0
  #blockEnd = 0
  #allocating: Promise<void> | undefined

  constructor(folder: string) {
    this.#environment = new LmdbEnvironment(path.join(folder, CATALOG_FILE))
  }

  get(id: StoreId): CatalogRow | undefined {
    const bytes = this.#environment.read(view => view.get(Buffer.from(id)))
    return bytes === undefined ? undefined : decodeRow(bytes)
  }

  /** All rows at one moment. */
  list(): [StoreId, CatalogRow][] {
    const range = { start: FIRST_ID, end: BEHIND_IDS }
    const rows = this.#environment.read(view =>
      view.scan(range, { limit: Number.MAX_SAFE_INTEGER }),
    )
    return rows.map(row => [row.key.toString('latin1'), decodeRow(row.value)])
  }

  /**
   * Replaces the row of a store by what `change` makes of it, durably: a row, `undefined` for none,
   * or the very row it was given for no change. `change` may be run again. Resolves to the row
   * before.
   */
  update(
    id: StoreId,
    change: (row: CatalogRow | undefined) => CatalogRow | undefined,
  ): Promise<CatalogRow | undefined> {
    const key = Buffer.from(id)
    return this.#environment.write(writer => {
      const bytes = writer.get(key)
      const before = bytes === undefined ? undefined : decodeRow(bytes)
      const after = change(before)
      if (after === before) return before
      if (after === undefined) writer.delete(key)
      else writer.put(key, encodeRow(after))
      return before
    })
  }

  async newGeneration(): Promise<number> {
    while (this.#nextGeneration >= this.#blockEnd) {
      this.#allocating ??= this.#allocateBlock().finally(() => {
        this.#allocating = undefined
      })
      await this.#allocating
    }
    return this.#nextGeneration++
  }

  /**
   * Makes sure that no generation up to `generation` is given out: for a catalog that is made anew.
   */
  async skipGenerations(generation: number): Promise<void> {
    await this.#environment.write(writer => {
      if (readCounter(writer) <= generation) writeCounter(writer, generation + 1)
    })
  }

  /** True when no generation was ever given out: a new folder, or a catalog that was lost. */
  isNew(): boolean {
    return this.#environment.read(view => view.get(COUNTER_KEY)) === undefined
  }

  close(): Promise<void> {
    return this.#environment.close()
  }

  async #allocateBlock(): Promise<void> {
    const first = await this.#environment.write(writer => {
      const next = readCounter(writer)
      writeCounter(writer, next + GENERATION_BLOCK)
      return next
    })
    this.#nextGeneration = first
    this.#blockEnd = first + GENERATION_BLOCK
  }
}

const readCounter = (writer: EnvironmentWriter): number =>
  writer.get(COUNTER_KEY)?.readUIntBE(0, 6) ?? 1

function writeCounter(writer: EnvironmentWriter, next: number): void {
  const bytes = Buffer.alloc(6)
  bytes.writeUIntBE(next, 0, 6)
  writer.put(COUNTER_KEY, bytes)
}

function encodeRow(row: CatalogRow): Buffer {
  const bytes = Buffer.alloc(17)
  bytes[0] = row.deleting ? 0x44 : 0x4c
  bytes.writeUIntBE(row.generation, 1, 6)
  bytes.writeUIntBE(row.compactingTo, 7, 6)
  bytes.writeUInt32BE(row.compactingPid, 13)
  return bytes
}

const decodeRow = (bytes: Buffer): CatalogRow => ({
  deleting: bytes[0] === 0x44,
  generation: bytes.readUIntBE(1, 6),
  compactingTo: bytes.readUIntBE(7, 6),
  compactingPid: bytes.readUInt32BE(13),
})

export const liveRow = (generation: number): CatalogRow => ({
  deleting: false,
  generation,
  compactingTo: 0,
  compactingPid: 0,
})
