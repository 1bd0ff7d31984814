/**
 * The design documents of databases, parsed once and kept in this process while they are unchanged.
 *
 * Promises: what it answers is what is stored at the moment of asking, whichever process wrote it: every question
 * compares the database's stamp (`core/database/design-stamp.ts`), one small read. Sets of many databases share a bound
 * of bytes; the longest unused go first. Leaves to others: running the functions.
 */
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import type { Database } from '../database/database.ts'
import { readDesigns } from '../database/design-stamp.ts'
import type { StoredDocument } from '../database/stored-document.ts'
import {
  type DesignDocument,
  type Fields,
  readDesignDocument,
} from '../document/design-document.ts'
import { documentText } from '../document/document-text.ts'
import { printRevision, type Revision } from '../document/revision.ts'
import type { DesignSource } from '../sandbox/sandbox.ts'

export interface CachedDesign {
  /** With its `_design/` in front. */
  readonly id: string
  readonly rev: Revision
  readonly document: DesignDocument
  /** The document as it was written. */
  readonly fields: Fields
  readonly source: DesignSource
}

export interface DesignSet {
  readonly byId: ReadonlyMap<string, CachedDesign>
  /** Those with a validation function. */
  readonly validators: readonly CachedDesign[]
}

const EMPTY: DesignSet = { byId: new Map(), validators: [] }
const BYTES_MAX = 64 * 1024 * 1024

interface Kept extends DesignSet {
  readonly stamp: Buffer
  readonly bytes: number
}

export class DesignCache {
  readonly #bytesMax: number
  /** By the id of the database's store; the most recently used last. */
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  constructor(bytesMax = BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  /** For tests and monitoring. */
  get bytes(): number {
    return this.#bytes
  }

  of(database: Database): MaybePromise<DesignSet> {
    return after(database.designStamp(), stamp => {
      if (stamp === undefined) return EMPTY
      const key = database.store.id
      const kept = this.#kept.get(key)
      if (!kept?.stamp.equals(stamp)) return this.#load(database)
      this.#kept.delete(key)
      this.#kept.set(key, kept)
      return kept
    })
  }

  find(database: Database, id: string): MaybePromise<CachedDesign | undefined> {
    return after(this.of(database), ({ byId }) => byId.get(id))
  }

  async #load(database: Database): Promise<DesignSet> {
    const { stamp, documents } = await database.read(readDesigns)
    if (stamp === undefined) return EMPTY
    const designs = documents.map(document => designOf(database, document))
    const byId = new Map(designs.map(design => [design.id, design]))
    const validators = designs.filter(({ document }) => document.validateDocUpdate !== undefined)
    const bytes = designs.reduce((sum, { source }) => sum + PER_DESIGN_BYTES + sizeOf(source), 0)
    const kept = { stamp, byId, validators, bytes }
    this.#keep(database.store.id, kept)
    return kept
  }

  #keep(key: string, kept: Kept): void {
    this.#drop(key)
    this.#kept.set(key, kept)
    this.#bytes += kept.bytes
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#bytesMax) break
      this.#drop(oldest)
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0
    this.#kept.delete(key)
  }
}

const PER_DESIGN_BYTES = 1024

/** Text and parsed fields: about three times the text. */
const sizeOf = ({ document }: DesignSource): number => 3 * document.length

function designOf(database: Database, stored: StoredDocument): CachedDesign {
  const { id, winner: rev, body } = stored
  const fields = JSON.parse(body.toString()) as Fields
  return {
    id,
    rev,
    fields,
    document: readDesignDocument(fields, database.properties),
    source: {
      databaseKey: database.store.id,
      key: `${id} ${printRevision(rev)}`,
      document: documentText({ id, rev, body }),
    },
  }
}
