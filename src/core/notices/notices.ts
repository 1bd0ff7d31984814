/**
 * What happened to databases, told to whoever in any process waits for it: feeds, caches, indexers.
 *
 * A notice carries no data, only that something is newer; the listener reads the store. So a notice that comes twice,
 * late or together with another does no harm, and a lost one (a process that dies) is made good by the next.
 */
import { getOrAdd } from '../../base/get-or-add.ts'

export type Notice =
  | {
      readonly kind: 'database_updated'
      readonly name: string
      readonly id: string
      readonly seq: number
    }
  | { readonly kind: 'database_created'; readonly name: string; readonly id: string }
  | { readonly kind: 'database_deleted'; readonly name: string; readonly id: string }
  /** The record of database updates (`/_db_updates`) has something newer; `id` is its store. */
  | {
      readonly kind: 'updates_recorded'
      readonly name: string
      readonly id: string
      readonly seq: number
    }

type Listener = (notice: Notice) => void

/** How far apart updates are sent on at the least. */
export const GATHER_MS = 20

export class Notices {
  readonly #listeners = new Set<Listener>()
  /** Those who care for one store only: a notice costs what its own listeners cost, however many others there are. */
  readonly #byStore = new Map<string, Set<Listener>>()
  readonly #ownListeners = new Set<Listener>()
  readonly #sendElsewhere: (notice: Notice) => void
  /** The newest update of each database that waits to be sent on; many commits become one notice. */
  readonly #pending = new Map<string, Notice>()
  #isSending = false

  constructor(sendElsewhere: (notice: Notice) => void = () => {}) {
    this.#sendElsewhere = sendElsewhere
  }

  /**
   * Tells listeners here at once and those in other processes at the end of this turn, or, where updates follow each
   * other closely, a moment later with those that came meanwhile: a message between processes costs as much as a write.
   */
  publish(notice: Notice): void {
    this.receive(notice)
    for (const listener of this.#ownListeners) listener(notice)
    if (notice.kind !== 'database_updated') {
      this.#sendElsewhere(notice)
      return
    }
    this.#pending.set(notice.id, notice)
    if (this.#isSending) return
    this.#isSending = true
    setImmediate(() => this.#sendPending())
  }

  /** A notice from another process: told here, not sent on. */
  receive(notice: Notice): void {
    for (const listener of this.#listeners) listener(notice)
    const ofStore = this.#byStore.get(notice.id)
    if (ofStore !== undefined) for (const listener of ofStore) listener(notice)
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Hears of one store only. */
  subscribeTo(storeId: string, listener: Listener): () => void {
    const listeners = getOrAdd(this.#byStore, storeId, () => new Set<Listener>())
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#byStore.get(storeId) === listeners) {
        this.#byStore.delete(storeId)
      }
    }
  }

  /** Hears only of what this very process did: whoever makes a change is the one to record it. */
  subscribeOwn(listener: Listener): () => void {
    this.#ownListeners.add(listener)
    return () => this.#ownListeners.delete(listener)
  }

  /** How many stores somebody waits for. */
  get followedStoreCount(): number {
    return this.#byStore.size
  }

  #sendPending(): void {
    const notices = [...this.#pending.values()]
    this.#pending.clear()
    this.#isSending = notices.length > 0
    for (const notice of notices) this.#sendElsewhere(notice)
    if (this.#isSending) setTimeout(() => this.#sendPending(), GATHER_MS).unref()
  }
}
