/**
 * One database in this process: its store, its queue of commits, and those who wait for its next change.
 *
 * It stores and reads; it does not ask who the caller is and runs no functions of users: that is `operations`.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import type { ReadTx, Steps, Store } from '../../engine/engine.ts'
import type { Notices } from '../notices/notices.ts'
import { ChangeFollowers } from './change-followers.ts'
import { type CommitWork, commitEdits, type DocumentEdit, type EditResult } from './commit-edits.ts'
import { CommitQueue } from './commit-queue.ts'
import { CompactionTurn } from './compaction-turn.ts'
import { type DatabaseHead, decodeHead } from './database-head.ts'
import { DESIGN_STAMP, HEAD, PURGED_INFOS_LIMIT, REVISION_LIMIT, SECURITY } from './keyspace.ts'
import { lifeOf, parseSequence, SequencePrinter } from './sequence-text.ts'

export const REVISION_LIMIT_DEFAULT = 1000
export const PURGED_INFOS_LIMIT_DEFAULT = 1000

const QUEUE_LIMITS = {
  countMax: 2000,
  bytesMax: 16 * 1024 * 1024,
  waitingBytesMax: 256 * 1024 * 1024,
}

export interface DatabaseProperties {
  readonly createdMs: number
  readonly partitioned: boolean
  /** Shards and copies asked for at creation; reported, and kept for a move to an engine that has them. */
  readonly q: number
  readonly n: number
}

export class Database {
  readonly name: string
  readonly store: Store
  readonly properties: DatabaseProperties
  /** Which life of a database of this name this is: part of every sequence text. */
  readonly life: string
  readonly #queue: CommitQueue<CommitWork, EditResult[]>
  readonly #notices: Notices
  #security: { bytes: Buffer; parse: (value: unknown) => unknown; value: unknown } | undefined
  readonly #sequences: SequencePrinter
  #followers: ChangeFollowers | undefined
  #compaction: CompactionTurn | undefined
  #ended = false

  constructor(parts: {
    name: string
    store: Store
    properties: DatabaseProperties
    notices: Notices
  }) {
    this.name = parts.name
    this.store = parts.store
    this.properties = parts.properties
    this.life = lifeOf(parts.store.id)
    this.#sequences = new SequencePrinter(this.life)
    this.#notices = parts.notices
    this.#queue = new CommitQueue(works => this.#commit(works), QUEUE_LIMITS)
  }

  get isIdle(): boolean {
    return this.#queue.isIdle
  }

  /** True once the database was deleted. */
  get ended(): boolean {
    return this.#ended
  }

  end(): void {
    this.#ended = true
  }

  head(): MaybePromise<DatabaseHead> {
    return after(this.headBytes(), decodeHead)
  }

  /** Equal as long as nothing was written. */
  headBytes(): MaybePromise<Buffer> {
    return after(this.#get(HEAD), bytes => {
      if (bytes === undefined) throw this.missing()
      return bytes
    })
  }

  /** One consistent look at the store. Fails with `database_missing` when the database was deleted meanwhile. */
  read<T>(work: (tx: ReadTx) => Steps<T>): MaybePromise<T> {
    return this.#guarded(() => this.store.read(work))
  }

  /** Those in this process who wait for the next change. */
  get followers(): ChangeFollowers {
    this.#followers ??= new ChangeFollowers({
      storeId: this.store.id,
      notices: this.#notices,
      newestSeq: async () => (await this.head()).updateSeq,
    })
    return this.#followers
  }

  get compaction(): CompactionTurn {
    this.#compaction ??= new CompactionTurn(this.store)
    return this.#compaction
  }

  /** Writes documents; one result per edit, in order, after they are on disk. */
  async write(edits: readonly DocumentEdit[], bytes: number): Promise<EditResult[]> {
    if (edits.length === 0) return []
    return await this.#queue.submit({ edits, count: edits.length, bytes })
  }

  /** The security object as JSON text; one that was never set is `unset`. */
  securityText(unset = EMPTY_OBJECT): MaybePromise<Buffer> {
    return after(this.#get(SECURITY), bytes => {
      if (bytes === undefined) throw this.missing()
      return bytes.length === 0 ? unset : bytes
    })
  }

  /** The security object as `parse` reads it; read again only when its text changed. */
  security<T>(parse: (value: unknown) => T): MaybePromise<T> {
    return after(this.securityText(), bytes => {
      const known = this.#security
      if (known?.parse === parse && known.bytes.equals(bytes)) return known.value as T
      const value = parse(JSON.parse(bytes.toString()))
      this.#security = { bytes, parse, value }
      return value
    })
  }

  async setSecurity(text: Buffer): Promise<void> {
    await this.#put(SECURITY, text)
  }

  /** Equal as long as no design document changes; undefined while there never was one. */
  designStamp(): MaybePromise<Buffer | undefined> {
    return this.#get(DESIGN_STAMP)
  }

  async revisionLimit(): Promise<number> {
    return numberOf(await this.#get(REVISION_LIMIT), REVISION_LIMIT_DEFAULT)
  }

  async setRevisionLimit(limit: number): Promise<void> {
    await this.#put(REVISION_LIMIT, Buffer.from(String(limit)))
  }

  async purgedInfosLimit(): Promise<number> {
    return numberOf(await this.#get(PURGED_INFOS_LIMIT), PURGED_INFOS_LIMIT_DEFAULT)
  }

  async setPurgedInfosLimit(limit: number): Promise<void> {
    await this.#put(PURGED_INFOS_LIMIT, Buffer.from(String(limit)))
  }

  printSequence(seq: number): string {
    return this.#sequences.print(seq)
  }

  /** A sequence text of a client as a number; beyond what was ever written counts as the newest. */
  parseSequence(text: string): number {
    return parseSequence(text, this.life)
  }

  /** Tells everybody in every process that the database has something newer. */
  announce(seq: number): void {
    const id = this.store.id
    this.#notices.publish({ kind: 'database_updated', name: this.name, id, seq })
  }

  /** Calls back on every change here or elsewhere, and when the database is deleted. */
  onUpdate(listener: () => void): () => void {
    return this.#notices.subscribeTo(this.store.id, () => listener())
  }

  async #commit(works: readonly CommitWork[]): Promise<EditResult[][]> {
    const work = commitEdits(works, this.properties.partitioned)
    const { results, seq, changed } = await this.#guard(this.store.write(work))
    if (changed) this.announce(seq)
    return results
  }

  #get(key: Buffer): MaybePromise<Buffer | undefined> {
    return this.#guarded(() => this.store.get(key))
  }

  #guarded<T>(look: () => MaybePromise<T>): MaybePromise<T> {
    try {
      const value = look()
      return value instanceof Promise ? value.catch(this.#rethrow) : value
    } catch (thrown) {
      throw this.#named(thrown)
    }
  }

  async #put(key: Buffer, value: Buffer): Promise<void> {
    const present = this.store.write(function* (tx) {
      if ((yield* tx.get(HEAD)) === undefined) return false
      tx.put(key, value)
      return true
    })
    if (!(await this.#guard(present))) throw this.missing()
  }

  /** A store that went away under us is a database that was deleted meanwhile. */
  async #guard<T>(promise: Promise<T>): Promise<T> {
    try {
      return await promise
    } catch (thrown) {
      throw this.#named(thrown)
    }
  }

  readonly #rethrow = (thrown: unknown): never => {
    throw this.#named(thrown)
  }

  #named(thrown: unknown): unknown {
    return isFailure(thrown, 'store_missing') ? this.missing() : thrown
  }

  missing(): Failure {
    return new Failure('database_missing', { subject: this.name })
  }
}

const EMPTY_OBJECT = Buffer.from('{}')

const numberOf = (bytes: Buffer | undefined, fallback: number): number =>
  bytes === undefined ? fallback : Number(bytes.toString())
