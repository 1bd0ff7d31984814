/**
 * Every statement the engine runs on data, with the tables they are about (docs/data-layout.md shows the same):
 *
 *   stores   id, number, version, bytes     one row for each store: its head. Every commit locks and rewrites it
 *   rows     store number, key, value       everything
 *   commits  connection, token, time        the last commit of each connection: did it happen?
 *   garbage  number                         deleted stores whose rows are still to be removed
 *   meta     name, value                    format of all this
 *
 * Single rows are looked up by subqueries: the planner can make nothing else of them than a walk down the index, whatever
 * it believes about sizes.
 *
 * A read statement finds the store by its id and hands out its version with the rows, all from one snapshot: two
 * statements that saw the same version saw the same state of the store.
 */
import type { BatchOptions, Key, Range, StoreId } from '../engine.ts'
import type { Call, Statement } from './connection.ts'
import { byteArrays, int8, text, texts } from './wire-format.ts'

const LIMIT_MAX = Number.MAX_SAFE_INTEGER

export class Statements {
  readonly #schema: string
  readonly #made = new Map<string, Statement>()

  constructor(schema: string) {
    this.#schema = `"${schema}"`
  }

  /** Outside of the others: its text is all there is to it. */
  plain(name: string, words: string): Call {
    return { statement: this.#statement(name, () => words), parameters: [] }
  }

  begin(): Call {
    return this.plain('begin', 'BEGIN')
  }

  beginSnapshot(): Call {
    return this.plain('begin_snapshot', 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  }

  commit(): Call {
    return this.plain('commit', 'COMMIT')
  }

  rollback(): Call {
    return this.plain('rollback', 'ROLLBACK')
  }

  /** -> version, value; no row when there is no store. */
  getOne(id: StoreId, key: Key): Call {
    const statement = this.#statement(
      'get_one',
      schema => `SELECT s.version,
        (SELECT r.value FROM ${schema}.rows r WHERE r.store = s.number AND r.key = $2::bytea)
        FROM ${schema}.stores s WHERE s.id = $1::text`,
    )
    return { statement, parameters: [text(id), key] }
  }

  /** -> place (from 1), version, value; no rows when there is no store. */
  getFrom(id: StoreId, keys: readonly Key[]): Call {
    const statement = this.#statement(
      'get_from',
      schema => `SELECT q.place, s.version,
        (SELECT r.value FROM ${schema}.rows r WHERE r.store = s.number AND r.key = q.key)
        FROM ${schema}.stores s
        CROSS JOIN unnest($2::bytea[]) WITH ORDINALITY AS q(key, place) WHERE s.id = $1::text`,
    )
    return { statement, parameters: [text(id), byteArrays(keys)] }
  }

  /** -> place (from 1), version, value; no row for a place whose store is not there. */
  getMany(ids: readonly StoreId[], keys: readonly Key[]): Call {
    const statement = this.#statement(
      'get_many',
      schema => `SELECT q.place, s.version,
        (SELECT r.value FROM ${schema}.rows r WHERE r.store = s.number AND r.key = q.key)
        FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS q(id, key, place)
        JOIN LATERAL (SELECT number, version FROM ${schema}.stores WHERE id = q.id LIMIT 1) AS s
          ON true`,
    )
    return { statement, parameters: [texts(ids), byteArrays(keys)] }
  }

  /** -> version, key, value; one row without key when there is nothing, none when there is no store. */
  scan(id: StoreId, range: Range, options: BatchOptions): Call {
    const {
      limit,
      bytesMax = Number.POSITIVE_INFINITY,
      reverse = false,
      keysOnly = false,
    } = options
    const isCut = !keysOnly && bytesMax < LIMIT_MAX && limit > 1
    const order = reverse ? 'key DESC' : 'key'
    const name = `scan${reverse ? '_back' : ''}${keysOnly ? '_keys' : ''}${isCut ? '_cut' : ''}`
    const value = keysOnly ? "''::bytea AS value" : 'value'
    const statement = this.#statement(name, schema => {
      const all = `SELECT key, ${value} FROM ${schema}.rows WHERE store = s.number
        AND key >= $2::bytea AND key < $3::bytea ORDER BY ${order} LIMIT $4::bigint`
      const cut = `SELECT key, value FROM (SELECT key, value,
        sum(octet_length(value)) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)
          - octet_length(value) AS before FROM (${all}) AS part) AS counted WHERE before < $5::bigint`
      return `SELECT s.version, r.key, r.value FROM ${schema}.stores s
        LEFT JOIN LATERAL (${isCut ? cut : all}) AS r ON true WHERE s.id = $1::text`
    })
    const rowsMax = keysOnly && bytesMax <= 0 ? Math.min(1, limit) : Math.min(limit, LIMIT_MAX)
    const parameters = [text(id), range.start, range.end, int8(rowsMax)]
    if (isCut) parameters.push(int8(Math.max(1, Math.ceil(bytesMax))))
    return { statement, parameters }
  }

  /** -> number; no row when there is no store. Waits for whoever holds it. */
  lock(id: StoreId): Call {
    const statement = this.#statement(
      'lock',
      schema => `SELECT number FROM ${schema}.stores WHERE id = $1::text FOR UPDATE`,
    )
    return { statement, parameters: [text(id)] }
  }

  /** -> one row when the connection's last commit was this one. */
  findCommit(connection: Uint8Array, token: Uint8Array): Call {
    const statement = this.#statement(
      'find_commit',
      schema =>
        `SELECT 1 FROM ${schema}.commits WHERE connection = $1::bytea AND token = $2::bytea`,
    )
    return { statement, parameters: [connection, token] }
  }

  /** Belongs to the transaction it tells of. */
  noteCommit(connection: Uint8Array, token: Uint8Array): Call {
    const statement = this.#statement(
      'note_commit',
      schema => `INSERT INTO ${schema}.commits (connection, token, time)
        VALUES ($1::bytea, $2::bytea, now())
        ON CONFLICT (connection) DO UPDATE SET token = excluded.token, time = excluded.time`,
    )
    return { statement, parameters: [connection, token] }
  }

  put(store: Uint8Array, keys: readonly Key[], values: readonly Uint8Array[]): Call {
    let bytes = 0
    for (const key of keys) bytes += key.length
    for (const value of values) bytes += value.length
    const statement = this.#statement(
      'put',
      schema => `WITH given AS (SELECT * FROM unnest($2::bytea[], $3::bytea[]) AS g(key, value)),
        before AS (SELECT coalesce(sum((SELECT octet_length(r.key) + octet_length(r.value)
          FROM ${schema}.rows r WHERE r.store = $1::bigint AND r.key = g.key)), 0)::bigint AS bytes
          FROM given g),
        put AS (INSERT INTO ${schema}.rows (store, key, value)
          SELECT $1::bigint, g.key, g.value FROM given g
          ON CONFLICT (store, key) DO UPDATE SET value = excluded.value)
        UPDATE ${schema}.stores SET version = version + 1,
          bytes = bytes + $4::bigint - (SELECT bytes FROM before) WHERE number = $1::bigint`,
    )
    return { statement, parameters: [store, byteArrays(keys), byteArrays(values), int8(bytes)] }
  }

  delete(store: Uint8Array, keys: readonly Key[]): Call {
    const statement = this.#statement('delete', schema =>
      removal(schema, 'r.key = ANY ($2::bytea[])'),
    )
    return { statement, parameters: [store, byteArrays(keys)] }
  }

  deleteRange(store: Uint8Array, range: Range): Call {
    const statement = this.#statement('delete_range', schema =>
      removal(schema, 'r.key >= $2::bytea AND r.key < $3::bytea'),
    )
    return { statement, parameters: [store, range.start, range.end] }
  }

  /** -> number, when there was none of this id. */
  createStore(id: StoreId, store: Uint8Array): Call {
    const statement = this.#statement(
      'create_store',
      schema => `INSERT INTO ${schema}.stores (id, number, version, bytes)
        VALUES ($1::text, $2::bigint, $2::bigint, 0) ON CONFLICT (id) DO NOTHING RETURNING number`,
    )
    return { statement, parameters: [text(id), store] }
  }

  /** -> number, bytes */
  describe(id: StoreId): Call {
    const statement = this.#statement(
      'describe',
      schema => `SELECT number, bytes FROM ${schema}.stores WHERE id = $1::text`,
    )
    return { statement, parameters: [text(id)] }
  }

  deleteStore(id: StoreId): Call {
    const statement = this.#statement(
      'delete_store',
      schema => `WITH gone AS (DELETE FROM ${schema}.stores WHERE id = $1::text RETURNING number)
        INSERT INTO ${schema}.garbage (number) SELECT number FROM gone`,
    )
    return { statement, parameters: [text(id)] }
  }

  /** -> id, version */
  stores(): Call {
    const statement = this.#statement(
      'stores',
      schema => `SELECT id, version FROM ${schema}.stores`,
    )
    return { statement, parameters: [] }
  }

  /** -> number of a deleted store */
  garbage(): Call {
    const statement = this.#statement(
      'garbage',
      schema => `SELECT number FROM ${schema}.garbage LIMIT 1`,
    )
    return { statement, parameters: [] }
  }

  /** The first rows of what is left; how many is in the tag. */
  clearRows(store: Uint8Array, limit: number): Call {
    const statement = this.#statement(
      'clear_rows',
      schema => `DELETE FROM ${schema}.rows WHERE store = $1::bigint AND key <= coalesce(
        (SELECT key FROM ${schema}.rows WHERE store = $1::bigint ORDER BY key OFFSET $2::bigint LIMIT 1),
        decode(repeat('ff', 2000), 'hex'))`,
    )
    return { statement, parameters: [store, int8(limit - 1)] }
  }

  forgetGarbage(store: Uint8Array): Call {
    const statement = this.#statement(
      'forget_garbage',
      schema => `DELETE FROM ${schema}.garbage WHERE number = $1::bigint`,
    )
    return { statement, parameters: [store] }
  }

  forgetOldCommits(): Call {
    const statement = this.#statement(
      'forget_old_commits',
      schema => `DELETE FROM ${schema}.commits WHERE time < now() - interval '1 day'`,
    )
    return { statement, parameters: [] }
  }

  say(channel: string, payload: string): Call {
    const statement = this.#statement('say', () => 'SELECT pg_notify($1::text, $2::text)::text')
    return { statement, parameters: [text(channel), text(payload)] }
  }

  #statement(name: string, write: (schema: string) => string): Statement {
    const made = this.#made.get(name)
    if (made !== undefined) return made
    const statement = { name: `gurney_${name}`, text: write(this.#schema) }
    this.#made.set(name, statement)
    return statement
  }
}

const removal = (schema: string, condition: string): string =>
  `WITH gone AS (DELETE FROM ${schema}.rows r WHERE r.store = $1::bigint AND ${condition}
    RETURNING octet_length(r.key) + octet_length(r.value) AS bytes)
  UPDATE ${schema}.stores SET version = version + 1,
    bytes = bytes - coalesce((SELECT sum(bytes) FROM gone), 0)::bigint WHERE number = $1::bigint`
