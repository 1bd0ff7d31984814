/**
 * Looks at an index: its state and what one of its trees says, as they were together at one moment.
 *
 * Whoever changes a root changes the state in the same transaction, and a state is never again what it was. So while the
 * bytes of the state are those of the last look the root is still the same, and nodes in memory are as good as those in
 * the store: mostly one get is all that a question costs. Only where the store answers at once: elsewhere a look is one
 * trip either way, and would become two when the state has changed.
 */
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import type { Steps, Store } from '../../engine/engine.ts'
import { STATE_KEY } from './index-keys.ts'
import type { IndexState } from './index-state.ts'
import { type IndexTree, readRoot, type StoredRoot, type TreeRoot } from './index-tree.ts'
import { knownResult, type NodeCache, NodeReader } from './node-store.ts'

/** An index at one moment. */
export interface IndexLook {
  /** Undefined: nothing there that can be used. */
  readonly state: IndexState | undefined
  /** Of the tree that was asked; another one whenever its rows are others. */
  readonly tag: string
}

export interface Looked<T> {
  readonly look: IndexLook
  /** With what was found there; undefined in an index that is not ready, or has no rows. */
  readonly root: TreeRoot | undefined
  readonly found: T | undefined
}

export type TreeWork<T> = (nodes: NodeReader, root: TreeRoot) => Steps<T>

interface LastLook {
  readonly stateBytes: Buffer
  readonly look: IndexLook
  readonly root: StoredRoot
}

export class IndexLooks {
  readonly #store: Store
  readonly #cache: NodeCache
  readonly #stateIn: (bytes: Buffer | undefined) => IndexState | undefined
  readonly #last = new Map<IndexTree, LastLook>()
  #isNear = false

  constructor(
    store: Store,
    cache: NodeCache,
    stateIn: (bytes: Buffer | undefined) => IndexState | undefined,
  ) {
    this.#store = store
    this.#cache = cache
    this.#stateIn = stateIn
  }

  /** Nothing is found in an index that is not ready. */
  look<T>(tree: IndexTree, work: TreeWork<T>): MaybePromise<Looked<T>> {
    const last = this.#isNear ? this.#last.get(tree) : undefined
    if (last === undefined) return this.#lookInStore(tree, work)
    const bytes = this.#store.get(STATE_KEY)
    // The store is being opened anew.
    if (bytes instanceof Promise) return bytes.then(() => this.#lookInStore(tree, work))
    return this.#lookAgain(tree, last, bytes, work) ?? this.#lookInStore(tree, work)
  }

  /** Reads a tree in one transaction, whatever its state; undefined when it has no rows. */
  read<T>(tree: IndexTree, work: TreeWork<T>): MaybePromise<T | undefined> {
    const cache = this.#cache
    return this.#store.read(function* (tx) {
      const root = yield* readRoot(tx, tree)
      if (root === undefined) return undefined
      return yield* work(new NodeReader(tx, tree, cache, root.incarnation), root)
    })
  }

  /** Undefined when the state is another one, or nodes are needed that are not in memory. */
  #lookAgain<T>(
    tree: IndexTree,
    { stateBytes, look, root }: LastLook,
    bytes: Buffer | undefined,
    work: TreeWork<T>,
  ): Looked<T> | undefined {
    if (bytes === undefined || !stateBytes.equals(bytes)) return undefined
    const nodes = new NodeReader(undefined, tree, this.#cache, root.incarnation)
    const result = knownResult(work(nodes, root))
    return result === undefined ? undefined : { look, root, found: result.value }
  }

  #lookInStore<T>(tree: IndexTree, work: TreeWork<T>): MaybePromise<Looked<T>> {
    const cache = this.#cache
    const stateIn = this.#stateIn
    const looked = this.#store.read(function* (tx) {
      const stateBytes = yield* tx.get(STATE_KEY)
      const state = stateIn(stateBytes)
      const root = state?.phase === 'ready' ? yield* readRoot(tx, tree) : undefined
      const look = { state, tag: root?.tag ?? EMPTY_TAG }
      if (root === undefined) return { stateBytes, look, root, found: undefined }
      const nodes = new NodeReader(tx, tree, cache, root.incarnation)
      return { stateBytes, look, root, found: yield* work(nodes, root) }
    })
    this.#isNear = !(looked instanceof Promise)
    return after(looked, ({ stateBytes, look, root, found }) => {
      if (stateBytes === undefined || root === undefined) this.#last.delete(tree)
      else this.#last.set(tree, { stateBytes, look, root })
      return { look, root, found }
    })
  }
}

export const EMPTY_TAG = 'empty'
