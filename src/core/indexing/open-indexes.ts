/**
 * The indexes that design documents of databases define, ready to be asked or updated in this process. Opening one
 * touches no store: whether it exists and how far it has come is in its state.
 */
import type { Collator } from '../../base/collate/collator.ts'
import { Failure, isFailure } from '../../base/errors.ts'
import type { Engine, Store, StoreId } from '../../engine/engine.ts'
import type { Database } from '../database/database.ts'
import { indexStoreId, scratchStoreId } from '../database/store-names.ts'
import type { CachedDesign } from '../design/design-cache.ts'
import type { DesignDocument } from '../document/design-document.ts'
import { BlockIndex } from './block-index.ts'
import type { StartThreads } from './first-build/run-tasks.ts'
import type { IndexKind, IndexKindMaker } from './index-kind.ts'
import { NodeCache } from './node-store.ts'

export interface OpenIndex {
  readonly storeId: StoreId
  readonly databaseId: StoreId
  readonly designId: string
  readonly signature: string
  readonly kind: IndexKind
  readonly index: BlockIndex
}

export interface OpenIndexesParts {
  readonly engine: Engine
  readonly collator: () => Collator
  readonly makers: readonly IndexKindMaker[]
  /** Memory for blocks that were read; all indexes of the process share it. */
  readonly cacheBytesMax: number
  /** Memory for the rows of a first build before they are spilled. */
  readonly sortBytesMax: () => number
  /** Starts threads for a large first build, where indexes are built in this process. */
  readonly startThreads?: StartThreads | undefined
}

export class OpenIndexes {
  readonly #parts: OpenIndexesParts
  readonly #cache: NodeCache
  /** A cached design document stays the same object while it is unchanged. */
  readonly #open = new WeakMap<CachedDesign, OpenIndex>()

  constructor(parts: OpenIndexesParts) {
    this.#parts = parts
    this.#cache = new NodeCache(parts.cacheBytesMax)
  }

  /** Fails when nobody knows the language. */
  of(database: Database, design: CachedDesign): OpenIndex {
    const known = this.#open.get(design)
    if (known !== undefined) return known
    const opened = this.#make(database.store.id, design)
    this.#open.set(design, opened)
    return opened
  }

  /** Undefined for a design document that no kind of index can be made for. */
  signatureOf(design: DesignDocument): string | undefined {
    return this.#maker(design)?.signatureOf(design)
  }

  #make(databaseId: StoreId, { id: designId, document: design }: CachedDesign): OpenIndex {
    const { engine, collator, sortBytesMax, startThreads } = this.#parts
    const maker = this.#maker(design)
    if (maker === undefined) {
      const { language: reason } = design
      throw new Failure('function_failed', { error: 'unknown_query_language', reason })
    }
    const signature = maker.signatureOf(design)
    const kind = maker.make({ databaseId, designId, design, signature })
    const storeId = indexStoreId(databaseId, signature)
    const scratchId = scratchStoreId(databaseId, signature)
    const index = new BlockIndex({
      store: engine.store(storeId),
      limits: engine.limits,
      collator: collator(),
      trees: kind.trees,
      cache: this.#cache,
      sortBytesMax: sortBytesMax(),
      startThreads,
      scratch: {
        open: () => ensureStore(engine, scratchId),
        drop: () => engine.deleteStore(scratchId),
      },
    })
    return { storeId, databaseId, designId, signature, kind, index }
  }

  #maker(design: DesignDocument): IndexKindMaker | undefined {
    return this.#parts.makers.find(({ language }) => language === design.language)
  }
}

/** Makes a store unless it is there. */
export async function ensureStore(engine: Engine, id: StoreId): Promise<Store> {
  try {
    return await engine.createStore(id)
  } catch (thrown) {
    if (isFailure(thrown, 'store_exists')) return engine.store(id)
    throw thrown
  }
}
