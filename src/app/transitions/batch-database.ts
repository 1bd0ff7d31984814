/**
 * The main database as the transitions of one batch see it: what was read stays in memory, what was changed is seen at
 * once by all that comes after, and is written in one commit at the end. So a batch of changes gives the same documents
 * as if each had been worked on alone, at a fraction of the reads and writes.
 *
 * Lives as long as its batch. Who asked for a write is remembered: when somebody else changed that document meanwhile,
 * those have to be done again.
 */
import { assert } from '../../base/assert.ts'
import { getOrAdd } from '../../base/get-or-add.ts'
import type { ServerOperations } from '../../core/operations/operations.ts'
import type { Document } from '../documents/document.ts'
import {
  DocumentDatabase,
  type RowQuery,
  type ViewRow,
  type WriteOutcome,
} from '../documents/document-database.ts'
import { isLookupView } from '../install/designs/lookup-design.ts'
import { EMITS, type Emit, keyTexts } from './batch-views.ts'
import type { Lookups } from './lookups.ts'

export interface FailedWrite {
  readonly outcome: WriteOutcome & { readonly ok: false }
  /** Ids of the documents whose transitions asked for it. */
  readonly owners: ReadonlySet<string>
}

interface PendingWrite {
  readonly document: Document
  readonly owners: Set<string>
}

export class BatchDatabase extends DocumentDatabase {
  readonly #known = new Map<string, Document | undefined>()
  readonly #pending = new Map<string, PendingWrite>()
  /** View -> key as JSON -> rows. */
  readonly #rows = new Map<string, Map<string, readonly ViewRow[]>>()
  /** View -> key as JSON -> ids of pending documents, for views that were asked. */
  readonly #pendingIds = new Map<string, Map<string, Set<string>>>()
  readonly #lookups: Lookups
  #contactsVersion = 0

  constructor(server: ServerOperations, name: string, lookups: Lookups) {
    super(server, name)
    this.#lookups = lookups
  }

  /** Another number whenever a document changed that others are hydrated with. */
  get contactsVersion(): number {
    return this.#contactsVersion
  }

  override async get(id: string): Promise<Document | undefined> {
    const [document] = await this.getMany([id])
    return document
  }

  override async getMany(ids: readonly string[]): Promise<(Document | undefined)[]> {
    const missing = [...new Set(ids)].filter(id => !this.#pending.has(id) && !this.#known.has(id))
    const read = await super.getMany(missing)
    for (const [index, id] of missing.entries()) this.#known.set(id, read[index])
    return ids.map(id => {
      const document = this.#pending.get(id)?.document ?? this.#known.get(id)
      return document?._deleted === true ? undefined : document
    })
  }

  /** As they are stored, whatever is pending. */
  readStored(ids: readonly string[]): Promise<(Document | undefined)[]> {
    return super.getMany(ids)
  }

  /** To be written at the end; seen from now on. */
  change(document: Document, owner: string): void {
    const owners = this.#pending.get(document._id)?.owners ?? new Set<string>()
    const before = this.#pending.get(document._id)?.document
    this.#pending.set(document._id, { document, owners: owners.add(owner) })
    for (const [path, ids] of this.#pendingIds) this.#reindex(path, ids, before, document)
    if (document.type !== 'data_record') this.#contactsVersion++
  }

  /** Somebody changed these past this object: they are read again. */
  forget(ids: readonly string[]): void {
    for (const id of ids) this.#known.delete(id)
    this.#rows.clear()
    this.#contactsVersion++
  }

  /** Rows of keys; asked once for each key. Other queries see what is stored, and what is pending where a rule is known. */
  override async allRows(design: string, view: string, query: RowQuery): Promise<ViewRow[]> {
    const keys = keysOf(query)
    const path = `${design.slice(this.name.length)}/${view}`
    if (keys === undefined || EMITS[path] === undefined) return super.allRows(design, view, query)
    const known = this.#rowsOf(path)
    const pending = this.#pendingIdsOf(path)
    const texts = keys.map(key => JSON.stringify(key))
    const missing = [...new Set(texts)].filter(text => !known.has(text))
    if (missing.length > 0) await this.#read(design, view, missing, known)
    return texts.flatMap((text, index) => {
      const stored = known.get(text) as readonly ViewRow[]
      const ids = pending.get(text)
      if (this.#pending.size === 0) return stored
      const others = stored.filter(({ id }) => !this.#pending.has(id))
      return ids === undefined
        ? others
        : [...others, ...[...ids].map(id => ({ id, key: keys[index], value: null }))]
    })
  }

  /** Rows of a range of keys, which `isWithin` describes for those that are pending. */
  async rangeRows(
    design: string,
    view: string,
    query: RowQuery,
    isWithin: (key: unknown) => boolean,
  ): Promise<ViewRow[]> {
    const emit = EMITS[`${design.slice(this.name.length)}/${view}`]
    assert(emit !== undefined, `no rule is known for ${design}/${view}`)
    const stored = await super.allRows(design, view, query)
    return [
      ...stored.filter(({ id }) => !this.#pending.has(id)),
      ...this.#pendingRows(emit, isWithin),
    ]
  }

  /** Writes what is pending, in one commit. Answers the revisions by id, and what failed. */
  async commit(): Promise<{ written: ReadonlyMap<string, string>; failed: FailedWrite[] }> {
    const pending = [...this.#pending.values()]
    const outcomes = await super.putMany(pending.map(({ document }) => document))
    const written = new Map<string, string>()
    const failed: FailedWrite[] = []
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.ok) written.set(outcome.id, outcome.rev)
      else failed.push({ outcome, owners: (pending[index] as PendingWrite).owners })
    }
    return { written, failed }
  }

  #pendingIdsOf(path: string): Map<string, Set<string>> {
    const known = this.#pendingIds.get(path)
    if (known !== undefined) return known
    const ids = new Map<string, Set<string>>()
    for (const { document } of this.#pending.values()) this.#reindex(path, ids, undefined, document)
    this.#pendingIds.set(path, ids)
    return ids
  }

  #reindex(
    path: string,
    ids: Map<string, Set<string>>,
    before: Document | undefined,
    after: Document,
  ): void {
    const emit = EMITS[path] as Emit
    const keysOf = (document: Document): string[] =>
      document._deleted === true ? [] : keyTexts(emit, document)
    for (const key of before === undefined ? [] : keysOf(before))
      ids.get(key)?.delete(before?._id ?? '')
    for (const key of keysOf(after)) getOrAdd(ids, key, () => new Set<string>()).add(after._id)
  }

  #rowsOf(path: string): Map<string, readonly ViewRow[]> {
    const known = this.#rows.get(path) ?? new Map<string, readonly ViewRow[]>()
    this.#rows.set(path, known)
    return known
  }

  async #read(
    design: string,
    view: string,
    texts: readonly string[],
    known: Map<string, readonly ViewRow[]>,
  ): Promise<void> {
    if (isLookupView(view)) {
      for (const [text, rows] of await this.#lookups.rows(view, texts)) known.set(text, rows)
      return
    }
    const found = new Map<string, ViewRow[]>(texts.map(text => [text, []]))
    const keys = texts.map(text => JSON.parse(text) as unknown)
    for (const row of await super.allRows(design, view, { keys, reduce: false })) {
      found.get(JSON.stringify(row.key))?.push(row)
    }
    for (const [text, rows] of found) known.set(text, rows)
  }

  #pendingRows(emit: Emit, isWanted: (key: unknown) => boolean): ViewRow[] {
    const rows: ViewRow[] = []
    for (const { document } of this.#pending.values()) {
      if (document._deleted === true) continue
      for (const key of emit(document)) {
        if (isWanted(key)) rows.push({ id: document._id, key, value: null })
      }
    }
    return rows
  }
}

function keysOf({ keys, startKey, endKey }: RowQuery): readonly unknown[] | undefined {
  if (keys !== undefined) return keys
  const isOne = startKey !== undefined && JSON.stringify(startKey) === JSON.stringify(endKey)
  return isOne ? [startKey] : undefined
}
