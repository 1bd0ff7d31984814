/**
 * Gives a store a new file without the space that deleted data left behind, while reads and writes
 * go on.
 *
 * 1. The old file's state becomes 'journaling': from then on every write of every process notes the
 *    keys it touches.
 * 2. The rows are copied in order and in slices, each slice from the newest state.
 * 3. The journal is replayed into the new file until little is left.
 * 4. Inside one write of the old file, so that nobody else writes: the rest is replayed, the new
 *    file is completed and synced, and the old file's state becomes 'moved'. That commit is the
 *    moment of change; every later operation of any process sees it and goes to the new file.
 * 5. The catalog learns the new generation, the old file is removed.
 *
 * Dying before 4 leaves a file nobody knows and a journal nobody reads: the next compaction, the
 * next sweep of the folder, or a write that finds the owner dead clears them. Dying after 4 leaves
 * an old file that points to the new one.
 */
import { Failure } from '../../base/errors.ts'
import type { StoreId } from '../engine.ts'
import { keyAfter } from '../key-order.ts'
import { EVERY_KEY } from './embedded-limits.ts'
import { clearJournal, type JournalEntry, readJournal, type Touched } from './journal.ts'
import {
  type EnvironmentView,
  type EnvironmentWriter,
  LmdbEnvironment,
} from './lmdb-environment.ts'
import type { OpenStore, OpenStores } from './open-stores.ts'
import { liveRow, type StoreCatalog } from './store-catalog.ts'
import { removeStoreFile, storePath, syncFolder } from './store-files.ts'
import { decodeState, encodeState, LIVE, STATE_KEY, type StoreState } from './store-state.ts'
import { removeRange } from './store-transaction.ts'

export type CompactProgress = (done: number, total: number) => void

const SLICE = { limit: 1000, bytesMax: 1024 * 1024 }
const REPLAY_ENTRIES = 500
const REPLAY_ROUNDS_MAX = 200
/** Short enough to replay while every writer waits. */
const REST_ENTRIES_MAX = 20

export interface CompactionParts {
  readonly folder: string
  readonly id: StoreId
  /** Generation of the new file. */
  readonly target: number
  readonly catalog: StoreCatalog
  readonly open: OpenStores
  /** Generation of a file that a dead compaction may have left; 0 for none. */
  readonly leftover: number
  readonly stopped: () => boolean
  readonly progress: CompactProgress
}

export class Compaction {
  readonly #parts: CompactionParts
  #replayed = -1

  constructor(parts: CompactionParts) {
    this.#parts = parts
  }

  async run(): Promise<void> {
    const { id, target, catalog } = this.#parts
    try {
      const store = await this.#openStore()
      const unpin = this.#parts.open.pin(store)
      try {
        await this.#removeLeftover(store)
        await this.#move(store)
      } finally {
        unpin()
      }
      await catalog.update(id, row => (row?.compactingTo === target ? liveRow(target) : row))
      await this.#parts.open.retire(id, store)
      await removeStoreFile(store.environment.path)
    } catch (error) {
      await this.#releaseClaim()
      throw error
    }
  }

  async #openStore(): Promise<OpenStore> {
    for (;;) {
      await this.#parts.open.open(this.#parts.id)
      const store = this.#parts.open.now(this.#parts.id)
      if (store !== undefined && (await this.#isCurrent(store))) return store
    }
  }

  /** The catalog may lag behind a move whose process died before it could tell. */
  async #isCurrent(store: OpenStore): Promise<boolean> {
    const { id, target, catalog, open, folder } = this.#parts
    const state = store.environment.read(view => stateOf(view, store))
    if (state.kind === 'moved' || state.kind === 'deleted') {
      await open.retire(id, store)
      return false
    }
    const { generation } = store
    const before = await catalog.update(id, row =>
      row?.compactingTo === target && row.generation !== generation ? { ...row, generation } : row,
    )
    if (before !== undefined && before.generation !== generation) {
      await removeStoreFile(storePath(folder, id, before.generation))
    }
    return true
  }

  async #removeLeftover(store: OpenStore): Promise<void> {
    const { leftover, folder, id } = this.#parts
    if (leftover === 0 || leftover === store.generation) return
    await removeStoreFile(storePath(folder, id, leftover))
  }

  async #move(store: OpenStore): Promise<void> {
    const file = storePath(this.#parts.folder, this.#parts.id, this.#parts.target)
    const copy = new LmdbEnvironment(file, { noSync: true })
    let copyOpen = true
    try {
      await this.#startJournal(store)
      await this.#copyRows(store, copy)
      await this.#replayUntilShort(store, copy)
      await copy.sync()
      await syncFolder(this.#parts.folder)
      await store.environment.write(writer => {
        this.#assertOurs(writer, store)
        this.#finishCopy(writer, copy)
        copyOpen = false
        const moved: StoreState = { kind: 'moved', generation: this.#parts.target, pid: 0 }
        writer.put(STATE_KEY, encodeState(moved))
      })
    } catch (error) {
      if (copyOpen) await copy.close()
      await this.#abandon(store)
      await removeStoreFile(file)
      throw error
    }
  }

  async #startJournal(store: OpenStore): Promise<void> {
    const { target } = this.#parts
    await store.environment.write(writer => {
      assertServing(stateOf(writer, store), this.#parts.id)
      clearJournal(writer, Number.MAX_SAFE_INTEGER)
      const state: StoreState = { kind: 'journaling', generation: target, pid: process.pid }
      writer.put(STATE_KEY, encodeState(state))
    })
  }

  async #copyRows(store: OpenStore, copy: LmdbEnvironment): Promise<void> {
    const total = store.environment.size().rows
    let done = 0
    let rest = EVERY_KEY
    for (;;) {
      this.#assertGoingOn()
      const rows = store.environment.read(view => view.scan(rest, SLICE))
      const last = rows.at(-1)
      if (last === undefined) return
      await copy.write(writer => {
        for (const row of rows) writer.put(row.key, row.value, true)
      })
      rest = { start: keyAfter(last.key), end: rest.end }
      done += rows.length
      this.#parts.progress(Math.min(done, total), total)
    }
  }

  async #replayUntilShort(store: OpenStore, copy: LmdbEnvironment): Promise<void> {
    for (let round = 0; round < REPLAY_ROUNDS_MAX; round++) {
      this.#assertGoingOn()
      const entries = store.environment.read(view =>
        readJournal(view, this.#replayed, REPLAY_ENTRIES),
      )
      if (entries.length <= REST_ENTRIES_MAX) return
      await copy.write(writer => store.environment.read(view => replay(view, writer, entries)))
      this.#replayed = entries.at(-1)?.number ?? this.#replayed
    }
  }

  /** In the last write of the old file: after this the new one is complete, durable and closed. */
  #finishCopy(old: EnvironmentWriter, copy: LmdbEnvironment): void {
    copy.writeSync(writer => {
      for (;;) {
        const entries = readJournal(old, this.#replayed, REPLAY_ENTRIES)
        if (entries.length === 0) break
        replay(old, writer, entries)
        this.#replayed = entries.at(-1)?.number ?? this.#replayed
      }
      writer.put(STATE_KEY, encodeState(LIVE))
    })
    copy.syncNow()
    // Closed before anybody can be sent there: this process must not share a file handle that does
    // not sync.
    copy.closeNow()
  }

  #assertOurs(view: EnvironmentView, store: OpenStore): void {
    const state = stateOf(view, store)
    assertServing(state, this.#parts.id)
    if (state.kind === 'journaling' && state.generation === this.#parts.target) return
    throw new Failure('engine_busy', {
      subject: this.#parts.id,
      reason: 'the compaction was taken over',
    })
  }

  #assertGoingOn(): void {
    if (this.#parts.stopped()) throw new Failure('engine_closed')
  }

  /**
   * Back to a plain store, if it is still there and still ours; what hinders that is not worse than
   * the failure.
   */
  async #abandon(store: OpenStore): Promise<void> {
    await store.environment
      .write(writer => {
        const state = stateOf(writer, store)
        if (state.kind !== 'journaling' || state.generation !== this.#parts.target) return
        writer.put(STATE_KEY, encodeState(LIVE))
        clearJournal(writer, Number.MAX_SAFE_INTEGER)
      })
      .catch(() => {})
  }

  async #releaseClaim(): Promise<void> {
    const { id, target, catalog } = this.#parts
    await catalog
      .update(id, row =>
        row?.compactingTo === target ? { ...row, compactingTo: 0, compactingPid: 0 } : row,
      )
      .catch(() => {})
  }
}

function stateOf(view: EnvironmentView, store: OpenStore): StoreState {
  const bytes = view.get(STATE_KEY)
  const subject = store.environment.path
  if (bytes === undefined) throw new Failure('storage_corrupt', { subject, reason: 'no state' })
  return decodeState(bytes, subject)
}

function assertServing(state: StoreState, id: StoreId): void {
  if (state.kind === 'deleted') throw new Failure('store_missing', { subject: id })
  if (state.kind !== 'moved') return
  throw new Failure('engine_busy', { subject: id, reason: 'the store has moved meanwhile' })
}

/** Makes the copy agree with the old file wherever an entry says that something was touched. */
function replay(
  old: EnvironmentView,
  copy: EnvironmentWriter,
  entries: readonly JournalEntry[],
): void {
  for (const entry of entries) {
    for (const touched of entry.touched) replayOne(old, copy, touched)
  }
}

function replayOne(old: EnvironmentView, copy: EnvironmentWriter, touched: Touched): void {
  if ('key' in touched) {
    const value = old.get(touched.key)
    if (value === undefined) copy.delete(touched.key)
    else copy.put(touched.key, value)
    return
  }
  removeRange(copy, touched.range)
  let { start } = touched.range
  for (;;) {
    const rows = old.scan({ start, end: touched.range.end }, SLICE)
    for (const row of rows) copy.put(row.key, row.value)
    const last = rows.at(-1)
    if (last === undefined) return
    start = keyAfter(last.key)
  }
}
