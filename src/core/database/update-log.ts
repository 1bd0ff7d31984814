/**
 * What happened to databases, for `/_db_updates`: one latest entry per database and kind (created, updated, deleted), in
 * the order it happened, in a store of its own, so that sequences survive restarts.
 *
 *   01            head: varint newest sequence, then the id of this log's life
 *   02 seq        entry: u8 kind, name
 *   03 kind name  varint sequence of that entry
 *
 * Who writes: every process sees every notice, but only the one that made a change records it. Creations and deletions
 * are recorded before they are acknowledged; a process that dies in between is made good by `reconcile`, which every
 * process runs once at its start. Updates are gathered from this process's own notices and written together about once
 * a second, off the path of writes; those of the last second die with a killed process, and the next write of the
 * database repairs that.
 */
import { randomBytes } from 'node:crypto'
import { ByteReader, ByteWriter } from '../../base/bytes.ts'
import { Failure, isFailure } from '../../base/errors.ts'
import type { Engine, Range, ReadTx, Steps, Store, WriteTx } from '../../engine/engine.ts'
import type { Notices } from '../notices/notices.ts'
import { ChangeFollowers } from './change-followers.ts'

const STORE = 'updates'
const HEAD = Buffer.of(0x01)
const ENTRY = 0x02
const LATEST = 0x03
const ENTRIES: Range = { start: Buffer.of(ENTRY), end: Buffer.of(ENTRY + 1) }
const LATESTS: Range = { start: Buffer.of(LATEST), end: Buffer.of(LATEST + 1) }
const KINDS = ['created', 'updated', 'deleted'] as const
const LIFE_BYTES = 8

export type UpdateKind = (typeof KINDS)[number]

export interface DatabaseUpdate {
  readonly seq: number
  readonly name: string
  readonly kind: UpdateKind
}

export interface UpdatesBatch {
  readonly updates: readonly DatabaseUpdate[]
  readonly headSeq: number
  readonly isLast: boolean
}

interface Head {
  readonly seq: number
  readonly life: string
}

export class UpdateLog {
  readonly followers: ChangeFollowers
  readonly #store: Store
  readonly #notices: Notices

  constructor(engine: Engine, notices: Notices) {
    this.#store = engine.store(STORE)
    this.#notices = notices
    this.followers = new ChangeFollowers({
      storeId: STORE,
      notices,
      newestSeq: async () => (await this.head()).seq,
    })
  }

  /** Makes the log at the first start. */
  static async prepare(engine: Engine): Promise<void> {
    try {
      await engine.createStore(STORE)
    } catch (thrown) {
      if (!isFailure(thrown, 'store_exists')) throw thrown
    }
    const life = randomBytes(LIFE_BYTES).toString('hex')
    await engine.store(STORE).write(function* (tx) {
      // A start that was cut short may have left the store empty.
      if ((yield* tx.get(HEAD)) === undefined) tx.put(HEAD, encodeHead({ seq: 0, life }))
    })
  }

  async head(): Promise<Head> {
    return this.#store.read(readHead)
  }

  /** Resolves when the entries are on disk. */
  async record(kind: UpdateKind, names: Iterable<string>): Promise<void> {
    const list = [...names]
    const seq = await this.#store.write(function* (tx) {
      const head = yield* readHead(tx)
      const latest = yield* tx.getMany(list.map(name => latestKey(kind, name)))
      let next = head.seq
      for (const [index, name] of list.entries()) {
        const before = latest[index]
        if (before !== undefined) tx.delete(entryKey(readSeq(before)))
        put(tx, { seq: ++next, name, kind })
      }
      tx.put(HEAD, encodeHead({ ...head, seq: next }))
      return next
    })
    this.#notices.publish({ kind: 'updates_recorded', name: STORE, id: STORE, seq })
  }

  /** @param from starts after this sequence; when descending, before it */
  async read(from: number, limit: number, descending: boolean): Promise<UpdatesBatch> {
    return this.#store.read(function* (tx) {
      const { seq } = yield* readHead(tx)
      const range = descending
        ? { start: ENTRIES.start, end: entryKey(from) }
        : { start: entryKey(from + 1), end: ENTRIES.end }
      const rows = yield* tx.scan(range, { limit, reverse: descending })
      const updates = rows.map(({ key, value }) => decodeEntry(key, value))
      return { updates, headSeq: seq, isLast: rows.length < limit }
    })
  }

  /** Records what happened to databases without anybody living long enough to say so. */
  async reconcile(databaseNames: () => Promise<readonly string[]>): Promise<void> {
    // The log is read first: what is recorded while the names are read must not look unrecorded.
    const alive = new Map<string, number>()
    for await (const rows of this.#store.scan(LATESTS)) {
      for (const { key, value } of rows) {
        const kind = KINDS[key[1] as number]
        const name = key.toString('utf8', 2)
        const seq = readSeq(value)
        if (kind === 'updated' || seq < Math.abs(alive.get(name) ?? 0)) continue
        alive.set(name, kind === 'created' ? seq : -seq)
      }
    }
    const names = new Set(await databaseNames())
    const created = [...names].filter(name => (alive.get(name) ?? 0) <= 0)
    const deleted = [...alive].filter(([name, seq]) => seq > 0 && !names.has(name))
    if (created.length > 0) await this.record('created', created)
    if (deleted.length > 0) {
      await this.record(
        'deleted',
        deleted.map(([name]) => name),
      )
    }
  }
}

function put(tx: WriteTx, { seq, name, kind }: DatabaseUpdate): void {
  const code = KINDS.indexOf(kind)
  tx.put(entryKey(seq), Buffer.concat([Buffer.of(code), Buffer.from(name)]))
  tx.put(latestKey(kind, name), new ByteWriter(8).varint(seq).finish())
}

function* readHead(tx: ReadTx): Steps<Head> {
  const bytes = yield* tx.get(HEAD)
  if (bytes === undefined) throw new Failure('store_missing', { subject: STORE })
  const reader = new ByteReader(bytes)
  return { seq: reader.varint(), life: reader.rest().toString('hex') }
}

const encodeHead = ({ seq, life }: Head): Buffer =>
  new ByteWriter(24).varint(seq).bytes(Buffer.from(life, 'hex')).finish()

function entryKey(seq: number): Buffer {
  const key = Buffer.allocUnsafe(9)
  key[0] = ENTRY
  key.writeBigUInt64BE(BigInt(seq), 1)
  return key
}

const latestKey = (kind: UpdateKind, name: string): Buffer =>
  Buffer.concat([Buffer.of(LATEST, KINDS.indexOf(kind)), Buffer.from(name)])

const readSeq = (bytes: Buffer): number => new ByteReader(bytes).varint()

function decodeEntry(key: Buffer, value: Buffer): DatabaseUpdate {
  const kind = KINDS[value[0] as number]
  if (kind === undefined) throw new Failure('storage_corrupt', { reason: 'an unknown update' })
  return { seq: Number(key.readBigUInt64BE(1)), kind, name: value.toString('utf8', 1) }
}
