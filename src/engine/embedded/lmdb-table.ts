/**
 * The `lmdb` package as we use it: a table opened our way, and the parts of the package that its own types leave out. Only
 * this file and lmdb-environment.ts, which says why each trick is needed, know it.
 */
import * as lmdb from 'lmdb'
import { readStoredKey, type StoredKey, writeStoredKey } from './reserved-keys.ts'

export function openTable(path: string, noSync: boolean): NativeStore {
  const options = {
    keyEncoder: { writeKey: writeStoredKey, readKey: readStoredKey },
    encoding: 'binary',
    overlappingSync: false,
    noSync,
    noSubdir: true,
    maxDbs: 1,
    create: false,
    // With it, the package keeps a promise of its own per batch that a failed commit rejects
    // unheard: the process would end.
    eventTurnBatching: false,
  }
  const Table = openAsClass(path, { ...options })
  let opened = false
  class MainTable extends Table {
    override transactionSync(work: () => unknown): unknown {
      if (opened) return super.transactionSync(work)
      opened = true
      this.resetReadTxn()
      this.ensureReadTxn()
      return work()
    }
  }
  // Without `isRoot` its `close` would leave the file open until the garbage collector comes by.
  const table = new MainTable(null, { ...options, isRoot: true })
  // The package keeps every table it ever opened in a list, with 64 KB of buffers each.
  for (const [name, each] of allDbs) if (each === table) allDbs.delete(name)
  return table
}

/** The parts of the package that its own types leave out. */
export interface NativeStore {
  readonly env: NativeEnvironment
  readonly lastSize: number
  getBinary(key: StoredKey, options?: object): Uint8Array | undefined
  getBinaryFast(key: StoredKey, options?: object): Uint8Array | undefined
  getRange(options: NativeRange & { values: boolean }): Iterable<NativeRow | Buffer>
  /** Runs `getFast` with room for `lastSize` bytes. */
  _returnLargeBuffer(getFast: () => unknown): Uint8Array
  put(key: StoredKey, value: Uint8Array, options?: object): unknown
  remove(key: StoredKey): unknown
  transaction<T>(work: () => T): Promise<T>
  transactionSync(work: () => unknown): unknown
  useReadTransaction(): NativeTransaction
  resetReadTxn(): void
  ensureReadTxn(): void
  close(): Promise<void>
}

export interface NativeEnvironment {
  startWriting(address: number, callback: (status: number) => unknown): unknown
  sync(done?: (error?: unknown) => void): void
  stat(): {
    pageSize: number
    treeBranchPageCount: number
    treeLeafPageCount: number
    overflowPages: number
    entryCount: number
  }
  info(): { lastPageNumber: number }
  close(): void
}

export interface NativeTransaction {
  readonly address: number
  done(): void
}

export interface NativeRow {
  readonly key: Buffer
  readonly value: Uint8Array
}

export interface NativeRange {
  readonly start: StoredKey
  readonly end: StoredKey
  readonly reverse?: boolean
  readonly exclusiveStart?: boolean
  readonly inclusiveEnd?: boolean
}

const { openAsClass, allDbs, nativeAddon, v8AccelerationEnabled } = lmdb as unknown as {
  openAsClass(path: string, options: object): new (name: null, options: object) => NativeStore
  readonly allDbs: Map<string, NativeStore>
  readonly nativeAddon: {
    resetTxn(address: number): void
    lmdbError(status: number): never
  }
  /**
   * Large values come as views of the map; otherwise the scratch buffer would grow with them and
   * stay.
   */
  readonly v8AccelerationEnabled: boolean
}

export const native = nativeAddon
export const FAST_GET = v8AccelerationEnabled
