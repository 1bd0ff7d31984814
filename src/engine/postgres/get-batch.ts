/**
 * Many gets in one trip. They are sorted by store, for a store that is asked for many keys is then looked up once; a key
 * that several ask for travels once. What a get answers comes from one statement, so from one state of its store.
 */
import { getOrAdd } from '../../base/get-or-add.ts'
import type { Key, StoreId } from '../engine.ts'
import type { Call, Connection, Row } from './connection.ts'
import type { Statements } from './statements.ts'
import { readInt8 } from './wire-format.ts'

export interface Wanted {
  readonly id: StoreId
  readonly keys: readonly Key[]
}

export interface Got {
  readonly version: bigint
  readonly values: (Buffer | undefined)[]
}

/** So many keys of one store are worth a statement of their own. */
const OWN_STATEMENT_MIN = 5

/** One for each, in order; undefined where there is no such store. */
export async function getBatch(
  connection: Connection,
  statements: Statements,
  batch: readonly Wanted[],
): Promise<(Got | undefined)[]> {
  const stores = new Map<StoreId, StoreGets>()
  const pending = batch.map(({ id, keys }) =>
    getOrAdd(stores, id, () => new StoreGets(id)).add(keys),
  )
  const trip = tripOf(stores.values(), statements)
  const results = await connection.run(trip.map(({ call }) => call))
  for (const [at, { take }] of trip.entries()) take(results[at]?.rows ?? [])
  return pending.map(got => got())
}

/** The gets of one store: all of them travel in one statement. */
class StoreGets {
  readonly id: StoreId
  readonly keys: Key[] = []
  readonly #values: (Buffer | undefined)[] = []
  readonly #places = new Map<string, number>()
  #version: Buffer | undefined

  constructor(id: StoreId) {
    this.id = id
  }

  /** @returns what was got; to be called when all rows are taken */
  add(keys: readonly Key[]): () => Got | undefined {
    const [only] = keys
    if (keys.length === 1 && only !== undefined) return this.#addOne(only)
    const start = this.keys.length
    for (const key of keys) this.keys.push(key)
    return () => this.#got(keys.map((_, at) => this.#values[start + at]))
  }

  take(place: number, version: Buffer | undefined, value: Buffer | undefined): void {
    this.#version = version
    this.#values[place] = value
  }

  #addOne(key: Key): () => Got | undefined {
    const name = Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
    const known = this.#places.get(name)
    if (known === undefined) {
      const place = this.keys.push(key) - 1
      this.#places.set(name, place)
      return () => this.#got([this.#values[place]])
    }
    return () => {
      const value = this.#values[known]
      // What is handed out belongs to whoever gets it, and to nobody else.
      return this.#got([value && Buffer.from(value)])
    }
  }

  #got(values: (Buffer | undefined)[]): Got | undefined {
    return this.#version && { version: readInt8(this.#version), values }
  }
}

interface Passenger {
  readonly call: Call
  readonly take: (rows: readonly Row[]) => void
}

function tripOf(stores: Iterable<StoreGets>, statements: Statements): Passenger[] {
  const trip: Passenger[] = []
  const few: StoreGets[] = []
  for (const store of stores) {
    if (store.keys.length < OWN_STATEMENT_MIN) few.push(store)
    else trip.push(allOfOne(store, statements))
  }
  const [only] = few
  if (few.length === 1 && only?.keys.length === 1) trip.push(oneOfOne(only, statements))
  else if (few.length > 0) trip.push(someOfMany(few, statements))
  return trip
}

const oneOfOne = (store: StoreGets, statements: Statements): Passenger => ({
  call: statements.getOne(store.id, store.keys[0] as Key),
  take: ([row]) => row && store.take(0, row[0], row[1]),
})

const allOfOne = (store: StoreGets, statements: Statements): Passenger => ({
  call: statements.getFrom(store.id, store.keys),
  take: rows => {
    for (const [place, version, value] of rows) store.take(placeOf(place), version, value)
  },
})

function someOfMany(stores: readonly StoreGets[], statements: Statements): Passenger {
  const starts: { readonly store: StoreGets; readonly place: number }[] = []
  for (const store of stores) {
    for (const place of store.keys.keys()) starts.push({ store, place })
  }
  return {
    call: statements.getMany(
      starts.map(({ store }) => store.id),
      stores.flatMap(({ keys }) => keys),
    ),
    take: rows => {
      for (const [at, version, value] of rows) {
        const start = starts[placeOf(at)]
        start?.store.take(start.place, version, value)
      }
    },
  }
}

/** Places are counted from 1 over there. */
const placeOf = (bytes: Buffer | undefined): number => (bytes?.readUInt32BE(4) ?? 0) - 1
