/**
 * Lists of documents against a plain array: random ids (short, long, with letters that JSON escapes), random deletions,
 * random ranges, keys and pages, over HTTP and both ways. GURNEY_SEED repeats a run.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startServer } from '../support/start-server.ts'

const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000_000)
console.log(`listings fuzz: GURNEY_SEED=${seed}`)
const RUN_MS = 3000

let state = seed | 0
/** From 0 to below `end`. */
function random(end: number): number {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * end)
}
const pick = <T>(items: readonly T[]): T => items[random(items.length)] as T

const LONG = 'l'.repeat(1020)
const LETTERS = ['a', 'b', 'B', '0', 'é', '"', '\\', '\n', '\u0001', '😀', '_', '/']
const word = (length: number): string => Array.from({ length }, () => pick(LETTERS)).join('')

function randomId(): string {
  switch (random(6)) {
    case 0:
      return `_design/${word(1 + random(4))}`
    case 1:
      // around the length where ids no longer fit their keys, many of them with the same beginning
      return `${LONG}${word(random(12))}`
    case 2:
      return `${LONG}${'m'.repeat(random(2000))}${word(3)}`
    default:
      return `d${word(1 + random(6))}`
  }
}

const compare = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

interface Stored {
  readonly rev: string
  readonly deleted: boolean
  readonly n: number
}

const server = await startServer({ dialect: 'couchdb' })
after(() => server.close())

/** The truth: every id that ever was. */
const model = new Map<string, Stored>()

async function writeSome(): Promise<void> {
  const docs: Record<string, unknown>[] = []
  const ids = new Set<string>()
  for (let count = 0; count < 40; count++) {
    const id = random(3) === 0 && model.size > 0 ? pick([...model.keys()]) : randomId()
    if (ids.has(id)) continue
    ids.add(id)
    const known = model.get(id)
    const live = known !== undefined && !known.deleted
    docs.push({
      _id: id,
      ...(live ? { _rev: known.rev } : {}),
      ...(live && random(2) === 0 ? { _deleted: true } : {}),
      n: random(1000),
    })
  }
  const { json } = await server.ask('POST', '/db/_bulk_docs', { body: { docs } })
  for (const [index, result] of (json as { ok?: boolean; rev: string }[]).entries()) {
    const { _id: id, _deleted: deleted, n } = docs[index] as Record<string, unknown>
    assert.equal(result.ok, true, JSON.stringify(result))
    model.set(id as string, { rev: result.rev, deleted: deleted === true, n: n as number })
  }
}

interface Row {
  readonly id?: string
  readonly key: unknown
  readonly value?: unknown
  readonly doc?: unknown
  readonly error?: string
}

function row(id: string, includeDocs: boolean): Row {
  const stored = model.get(id)
  if (stored === undefined) return { key: id, error: 'not_found' }
  const { rev, deleted, n } = stored
  const doc = deleted ? null : { _id: id, _rev: rev, n }
  const value = deleted ? { rev, deleted } : { rev }
  return { id, key: id, value, ...(includeDocs ? { doc } : {}) }
}

interface Query {
  startkey?: string
  endkey?: string
  key?: string
  keys?: string[]
  descending?: boolean
  inclusive_end?: boolean
  include_docs?: boolean
  skip?: number
  limit?: number
}

const someId = (): string => (random(2) === 0 ? pick([...model.keys()]) : randomId())

function randomQuery(): Query {
  const query: Query = {}
  const kind = random(6)
  if (kind === 0) query.key = someId()
  else if (kind === 1) query.keys = Array.from({ length: random(8) }, someId)
  else {
    if (random(2) === 0) query.startkey = someId()
    if (random(2) === 0) query.endkey = someId()
  }
  if (random(2) === 0) query.descending = random(2) === 0
  if (random(3) === 0) query.inclusive_end = random(2) === 0
  if (random(2) === 0) query.include_docs = true
  if (random(3) === 0) query.skip = random(random(2) === 0 ? 10 : 2500)
  if (random(2) === 0) query.limit = random(random(2) === 0 ? 10 : 2500)
  return query
}

function expected(query: Query, design: boolean) {
  const all = [...model.keys()].filter(id => !model.get(id)?.deleted).sort(compare)
  const total = design ? all.filter(id => id.startsWith('_design/')).length : all.length
  const { skip = 0, limit = Number.POSITIVE_INFINITY, descending = false } = query
  const includeDocs = query.include_docs === true
  if (query.keys !== undefined) {
    const own = query.keys.filter(key => !design || key.startsWith('_design/'))
    const ordered = descending ? own.toReversed() : own
    const rows = ordered.slice(skip, skip + limit).map(id => row(id, includeDocs))
    return { total_rows: total, offset: null, rows }
  }
  const sign = descending ? -1 : 1
  const ordered = descending ? all.toReversed() : all
  const start = query.key ?? query.startkey
  const end = query.key ?? query.endkey
  const designStart = descending ? '_design0' : '_design/'
  const from = start ?? (design ? designStart : undefined)
  const before = from === undefined ? 0 : ordered.filter(id => sign * compare(id, from) < 0).length
  const inside = ordered.filter(id => {
    if (design && !id.startsWith('_design/')) return false
    if (start !== undefined && sign * compare(id, start) < 0) return false
    if (end === undefined) return true
    const order = sign * compare(id, end)
    return query.inclusive_end === false ? order < 0 : order <= 0
  })
  const rows = inside.slice(skip, skip + limit).map(id => row(id, includeDocs))
  return { total_rows: total, offset: Math.min(total, before + skip), rows }
}

const encoded = (query: Query): string =>
  Object.entries(query)
    .map(([name, value]) => `${name}=${encodeURIComponent(JSON.stringify(value))}`)
    .join('&')

async function checkOne(): Promise<void> {
  const query = randomQuery()
  const design = random(4) === 0
  const path = `/db/${design ? '_design_docs' : '_all_docs'}`
  const answer =
    random(2) === 0
      ? await server.ask('GET', `${path}?${encoded(query)}`)
      : await server.ask('POST', path, { body: query })
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(answer.json, expected(query, design), `${path} ${JSON.stringify(query)}`)
}

test('lists agree with a sorted array', async () => {
  await server.ask('PUT', '/db')
  const endMs = Date.now() + RUN_MS
  while (Date.now() < endMs) {
    await writeSome()
    for (let count = 0; count < 15; count++) await checkOne()
  }
  assert.ok(model.size > 50)
})

test('pages, ranks and empty stretches of a large list', async () => {
  await server.ask('PUT', '/large')
  const ids = Array.from({ length: 9000 }, (_, index) => `k${String(index).padStart(5, '0')}`)
  const revs: string[] = []
  for (let first = 0; first < ids.length; first += 3000) {
    const docs = ids.slice(first, first + 3000).map(_id => ({ _id }))
    const { json } = await server.ask('POST', '/large/_bulk_docs', { body: { docs } })
    for (const { rev } of json as { rev: string }[]) revs.push(rev)
  }
  // all of the middle goes, so that whole stretches are empty
  const gone = ids.slice(2000, 8000).map((_id, index) => {
    return { _id, _rev: revs[2000 + index], _deleted: true }
  })
  await server.ask('POST', '/large/_bulk_docs', { body: { docs: gone } })
  const live = [...ids.slice(0, 2000), ...ids.slice(8000)]
  for (const [skip, descending] of [
    [0, false],
    [1500, false],
    [1999, false],
    [2000, false],
    [2999, true],
    [1001, true],
    [3000, false],
  ] as const) {
    const { json } = await server.ask(
      'GET',
      `/large/_all_docs?limit=3&skip=${skip}&descending=${descending}`,
    )
    const ordered = descending ? live.toReversed() : live
    const { rows, offset } = json as { rows: { id: string }[]; offset: number }
    assert.deepEqual(
      rows.map(({ id }) => id),
      ordered.slice(skip, skip + 3),
      `skip ${skip}`,
    )
    assert.equal(offset, Math.min(3000, skip))
  }
  const { json } = await server.ask('GET', '/large/_all_docs?startkey="k02500"&limit=1')
  assert.deepEqual((json as { rows: { id: string }[] }).rows[0]?.id, 'k08000')
  assert.equal((json as { offset: number }).offset, 2000)
})
