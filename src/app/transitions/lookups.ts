/**
 * Who has this phone, this short id? Answers of the look-up views as of now: every document that was written before the
 * question counts, by whichever process. The index is asked as it is, and what changed since is added from the documents
 * themselves. So a record that comes in alone waits for no index; the index is brought up once for many of them.
 */
import type { Database } from '../../core/database/database.ts'
import type { DocumentDatabase, IndexedRows, ViewRow } from '../documents/document-database.ts'
import { type LookupView, lookupDesignName } from '../install/designs/lookup-design.ts'
import { EMITS, type Emit } from './batch-views.ts'
import { KEY_CHARS_MAX, RecentChanges } from './recent-changes.ts'

/** Changes after which the index is brought up while work goes on, and after which it is waited for. */
const BEHIND_MUCH = 250
const BEHIND_MAX = 1500

const RULES: Readonly<Record<LookupView, Emit>> = {
  contacts_by_phone: EMITS['-client/contacts_by_phone'] as Emit,
  contacts_by_reference: EMITS['-client/contacts_by_reference'] as Emit,
  docs_by_shortcode: EMITS['/docs_by_shortcode'] as Emit,
  registered_patients: EMITS['-client/registered_patients'] as Emit,
}

export class Lookups {
  readonly #data: DocumentDatabase
  readonly #recent = new RecentChanges(RULES)
  /** How far the index was last seen, and was last asked to come. */
  #indexSeq = 0
  #askedSeq = 0

  constructor(data: DocumentDatabase) {
    this.#data = data
  }

  /** Rows by key, in the order of ids; their values are not to be relied on. @param keys as JSON */
  async rows(view: LookupView, keys: readonly string[]): Promise<Map<string, ViewRow[]>> {
    const { database } = await this.#data.open()
    const found = await this.#ask(database, view, keys)
    const { updateSeq } = found
    await this.#recent.follow(database, updateSeq)
    const rows = new Map<string, ViewRow[]>(keys.map(key => [key, []]))
    for (const row of found.rows) {
      if (!this.#recent.hasChanged(row.id, updateSeq)) rows.get(JSON.stringify(row.key))?.push(row)
    }
    for (const [key, known] of rows) {
      const ids = this.#recent.idsOf(view, key, updateSeq)
      if (ids.length === 0) continue
      for (const id of ids) known.push({ id, key: JSON.parse(key) as unknown, value: null })
      known.sort((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)))
    }
    return rows
  }

  /** The index, however far it is behind, as long as that is not too far. */
  async #ask(database: Database, view: LookupView, texts: readonly string[]): Promise<IndexedRows> {
    const head = await database.head()
    const design = lookupDesignName(this.#data.name)
    const keys = texts.map(text => Buffer.from(text))
    const update = this.#isDue(head.updateSeq) ? 'lazy' : 'false'
    const found = await this.#data.indexedRows(design, view, { keys, update })
    this.#indexSeq = found.updateSeq
    const isUsable =
      !found.isAbsent &&
      found.purgeSeq >= head.purgeSeq &&
      head.updateSeq - found.updateSeq <= BEHIND_MAX &&
      texts.every(({ length }) => length <= KEY_CHARS_MAX)
    if (isUsable) return found
    const fresh = await this.#data.indexedRows(design, view, { keys, update: 'true' })
    this.#indexSeq = fresh.updateSeq
    return fresh
  }

  /** Whether to have the index brought up: once for so many changes, by whichever question comes first. */
  #isDue(headSeq: number): boolean {
    const isFar = (seq: number): boolean => seq > headSeq || headSeq - seq > BEHIND_MUCH
    if (!isFar(this.#indexSeq) || !isFar(this.#askedSeq)) return false
    this.#askedSeq = headSeq
    return true
  }
}
