/**
 * What happened to databases, told to whoever in any process waits for it: feeds, caches, indexers.
 *
 * A notice carries no data, only that something is newer; the listener reads the store. So a notice that comes twice,
 * late or together with another does no harm, and a lost one (a process that dies) is made good by the next.
 */
export type Notice =
  | {
      readonly kind: 'database_updated'
      readonly name: string
      readonly id: string
      readonly seq: number
    }
  | { readonly kind: 'database_created'; readonly name: string; readonly id: string }
  | { readonly kind: 'database_deleted'; readonly name: string; readonly id: string }

export class Notices {
  readonly #listeners = new Set<(notice: Notice) => void>()
  readonly #sendElsewhere: (notice: Notice) => void
  /** The newest update of each database that waits to be sent on; many commits of one turn become one notice. */
  readonly #pending = new Map<string, Notice>()

  constructor(sendElsewhere: (notice: Notice) => void = () => {}) {
    this.#sendElsewhere = sendElsewhere
  }

  /** Tells listeners here at once and those in other processes at the end of this turn. */
  publish(notice: Notice): void {
    this.receive(notice)
    if (notice.kind !== 'database_updated') {
      this.#sendElsewhere(notice)
      return
    }
    if (this.#pending.size === 0) setImmediate(() => this.#sendPending())
    this.#pending.set(notice.id, notice)
  }

  /** A notice from another process: told here, not sent on. */
  receive(notice: Notice): void {
    for (const listener of this.#listeners) listener(notice)
  }

  subscribe(listener: (notice: Notice) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #sendPending(): void {
    const notices = [...this.#pending.values()]
    this.#pending.clear()
    for (const notice of notices) this.#sendElsewhere(notice)
  }
}
