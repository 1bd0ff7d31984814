/**
 * The last documents of a database that changed, with the keys they have in some views: what an index that is a little
 * behind does not know yet. Follows the sequence of the database when it is asked, so it is as new as the store itself.
 *
 * Holds a few thousand documents at the most, and of those nothing but keys of moderate length. Whoever asks says how far
 * his index has come; what that knows already is let go when there is much of it.
 */
import { getOrAdd } from '../../base/get-or-add.ts'
import { type Change, readChanges } from '../../core/database/changes.ts'
import type { Database } from '../../core/database/database.ts'
import { decodeDocument } from '../../core/database/stored-document.ts'
import type { Document, JsonObject } from '../documents/document.ts'
import { type Emit, keyTexts } from './batch-views.ts'

const READ_COUNT = 500
const KEPT_MAX = 2000
/** Of a key as JSON; longer ones are not kept. */
export const KEY_CHARS_MAX = 1000

interface RecentDocument {
  readonly seq: number
  /** `view key`. */
  readonly keys: readonly string[]
}

export class RecentChanges {
  readonly #emits: readonly (readonly [view: string, emit: Emit])[]
  #storeId: Database['store']['id'] | undefined
  /** All changes after the first and up to the second are known. */
  #fromSeq = 0
  #toSeq = 0
  /** By id, in the order of their changes. */
  readonly #documents = new Map<string, RecentDocument>()
  readonly #idsByKey = new Map<string, Set<string>>()
  #reading: Promise<unknown> = Promise.resolve()

  /** @param emits rules by the names of their views */
  constructor(emits: Readonly<Record<string, Emit>>) {
    this.#emits = Object.entries(emits)
  }

  /** Knows, when it resolves, everything that changed after `seq` and was written before the call. */
  follow(database: Database, seq: number): Promise<void> {
    const reading = this.#reading.then(() => this.#read(database, seq))
    // Whoever asked hears of a failure; the next one tries again.
    this.#reading = reading.catch(() => {})
    return reading
  }

  /** Ids of documents that changed after `seq` and have the key now. */
  idsOf(view: string, key: string, seq: number): string[] {
    const ids = this.#idsByKey.get(`${view} ${key}`)
    return ids === undefined ? [] : [...ids].filter(id => this.hasChanged(id, seq))
  }

  hasChanged(id: string, seq: number): boolean {
    return (this.#documents.get(id)?.seq ?? 0) > seq
  }

  async #read(database: Database, seq: number): Promise<void> {
    const isOther = this.#storeId !== database.store.id
    if (isOther || seq < this.#fromSeq || seq > this.#toSeq) this.#restart(database, seq)
    if (this.#documents.size > KEPT_MAX) this.#letGo(seq)
    for (;;) {
      const request = { descending: false, limit: READ_COUNT, withRecords: true }
      const { changes, isLast } = await readChanges(database, { ...request, from: this.#toSeq })
      for (const change of changes) this.#note(change)
      if (isLast) return
    }
  }

  #restart(database: Database, seq: number): void {
    this.#storeId = database.store.id
    this.#documents.clear()
    this.#idsByKey.clear()
    this.#fromSeq = seq
    this.#toSeq = seq
  }

  #letGo(seq: number): void {
    for (const [id, document] of this.#documents) {
      if (document.seq > seq) break
      this.#forget(id, document)
    }
    this.#fromSeq = seq
  }

  #note(change: Change): void {
    const { id, seq } = change
    const before = this.#documents.get(id)
    if (before !== undefined) this.#forget(id, before)
    const keys = this.#keysOf(change, id)
    this.#documents.set(id, { seq, keys })
    for (const key of keys) getOrAdd(this.#idsByKey, key, () => new Set<string>()).add(id)
    this.#toSeq = seq
  }

  #forget(id: string, { keys }: RecentDocument): void {
    this.#documents.delete(id)
    for (const key of keys) {
      const ids = this.#idsByKey.get(key)
      ids?.delete(id)
      if (ids?.size === 0) this.#idsByKey.delete(key)
    }
  }

  #keysOf({ deleted, record }: Change, id: string): string[] {
    if (deleted || record === undefined || id.startsWith('_design/')) return []
    const members = JSON.parse(decodeDocument(record, id).body.toString()) as JsonObject
    const document: Document = { ...members, _id: id }
    const keys = this.#emits.flatMap(([view, emit]) =>
      keyTexts(emit, document)
        .filter(text => text.length <= KEY_CHARS_MAX)
        .map(text => `${view} ${text}`),
    )
    return [...new Set(keys)]
  }
}
