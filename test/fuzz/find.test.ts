/**
 * What `_find` answers from JSON indexes and text indexes is what a plain scan by the matcher finds: random documents of
 * mixed types that are written, changed and deleted, random selectors, random pages. The whole server in this process.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCollator } from '../../src/base/collate/collator.ts'
import type { JsonObject, JsonValue } from '../../src/core/mango/json-value.ts'
import { compileMatcher } from '../../src/core/mango/match.ts'
import { parseSelector } from '../../src/core/mango/parse-selector.ts'
import { viewCompare } from '../../src/core/mango/view-compare.ts'
import {
  makeRandom,
  type Random,
  randomDocuments,
  randomSelector,
  randomValue,
} from '../support/random-selectors.ts'
import { startServer, type TestServer } from '../support/start-server.ts'

const seed = Number(process.env.GURNEY_SEED ?? Math.floor(Math.random() * 2 ** 31))
const RUN_MS = 8000
const ROUNDS_MIN = 4
const compare = viewCompare(openCollator())

const INDEXES: readonly JsonObject[] = [
  { ddoc: 'a', name: 'a', index: { fields: ['a'] } },
  { ddoc: 'ab', name: 'ab', index: { fields: ['a', 'b'] } },
  { ddoc: 'op', name: 'op', index: { fields: ['o.p', 'c'] } },
  { ddoc: 'id', name: 'id', index: { fields: ['_id', 'a'] } },
  {
    ddoc: 'part',
    name: 'part',
    index: { fields: ['b'], partial_filter_selector: { c: { $exists: true } } },
  },
  { ddoc: 'text', name: 'all', type: 'text', index: {} },
  {
    ddoc: 'typed',
    name: 'typed',
    type: 'text',
    index: {
      index_array_lengths: false,
      fields: ['a', 'b', 'c', 'o.p'].flatMap(name =>
        ['string', 'number', 'boolean'].map(type => ({ name, type })),
      ),
    },
  },
]

test(`indexed answers are those of a plain scan, seed ${seed}`, async () => {
  const random = makeRandom(seed)
  const server = await startServer()
  const endMs = performance.now() + RUN_MS
  try {
    for (let round = 0; round < ROUNDS_MIN || performance.now() < endMs; round++) {
      await runRound(server, random, round)
    }
  } finally {
    await server.close()
  }
  console.log(`answered from ${JSON.stringify(Object.fromEntries(usedCounts))}`)
  const countOf = (...names: string[]) =>
    names.reduce((sum, name) => sum + (usedCounts.get(name) ?? 0), 0)
  assert.ok(countOf('_all_docs') > 0)
  assert.ok(countOf('a', 'ab', 'op', 'id', 'part') > 0)
  assert.ok(countOf('all', 'typed') > 0)
})

/** How many queries each index answered. */
const usedCounts = new Map<string, number>()

async function runRound(server: TestServer, random: Random, round: number): Promise<void> {
  const path = `/round${round}`
  await server.ask('PUT', path)
  for (const index of INDEXES) {
    // Text indexes are taken before all documents, so half of the rounds have none.
    const chance = index.type === 'text' ? (round % 2) * 0.8 : 0.7
    if (random.chance(chance)) await server.ask('POST', `${path}/_index`, { body: index })
  }
  const stored = new Map<string, JsonObject>()
  for (let step = 0; step < 3; step++) {
    await change(server, path, random, stored)
    for (let query = 0; query < 25; query++) await checkQuery(server, path, random, stored)
  }
  await server.ask('DELETE', path)
}

async function change(
  server: TestServer,
  path: string,
  random: Random,
  stored: Map<string, JsonObject>,
): Promise<void> {
  const docs: JsonObject[] = []
  for (const document of randomDocuments(random).map(legal)) {
    const isKnown = docs.some(({ _id }) => _id === document._id)
    if (!stored.has(document._id as string) && !isKnown) docs.push(document)
  }
  for (const { _id, _rev, ...document } of [...stored.values()]) {
    const fate = random.below(5)
    if (fate === 0) docs.push({ _id, _rev, _deleted: true } as JsonObject)
    else if (fate === 1) docs.push({ ...document, _id, _rev, a: randomValue(random) } as JsonObject)
  }
  const written = await server.ask('POST', `${path}/_bulk_docs`, { body: { docs } })
  for (const [at, result] of (written.json as { id: string; rev?: string }[]).entries()) {
    assert.ok(result.rev, JSON.stringify(result))
    const { _deleted, ...document } = docs[at] as JsonObject
    if (_deleted === true) stored.delete(result.id)
    else stored.set(result.id, { ...document, _rev: result.rev })
  }
}

/** Ids that begin with an underscore are reserved. */
const legal = (document: JsonObject): JsonObject => ({
  ...document,
  _id: (document._id as string).replace(/^_/, 'x_'),
})

async function checkQuery(
  server: TestServer,
  path: string,
  random: Random,
  stored: ReadonlyMap<string, JsonObject>,
): Promise<void> {
  const isById = stored.size > 0 && random.chance(0.1)
  const selector = isById ? { _id: random.pick([...stored.keys()]) } : randomSelector(random)
  const useIndex = random.pick([undefined, 'part', 'text', 'typed', 'id'])
  const sort = random.chance(0.2)
    ? [{ [random.pick(['a', 'o.p'])]: random.pick(['asc', 'desc']) }]
    : []
  const query = {
    selector,
    sort,
    limit: 1 + random.below(12),
    ...(useIndex === undefined ? {} : { use_index: useIndex }),
    ...(random.chance(0.3) ? { fields: ['_id', 'a'] } : { fields: ['_id'] }),
  }
  const found = await allPages(server, path, query)
  if (found === undefined) return
  const matches = compileMatcher(parseSelector(selector), { compare })
  const used = await usedIndex(server, path, query)
  usedCounts.set(used, (usedCounts.get(used) ?? 0) + 1)
  const inScope = (document: JsonObject) => used !== 'part' || 'c' in document
  // A sort leaves out documents without the field, except by a text index, where they come last.
  const sorted = Object.keys(sort[0] ?? {})
  const needs = used === 'all' || used === 'typed' ? [] : sorted
  const expected = [...stored.values()].filter(
    document =>
      matches(document) && inScope(document) && needs.every(field => has(document, field)),
  )
  const isNothing = JSON.stringify(selector) === '{"$or":[]}'
  const ids = isNothing ? [] : expected.map(({ _id }) => _id as string)
  assert.deepEqual(found.toSorted(), ids.toSorted(), JSON.stringify({ query, seed }))
}

function has(document: JsonObject, field: string): boolean {
  if (field === 'a') return 'a' in document
  const { o } = document
  return typeof o === 'object' && o !== null && !Array.isArray(o) && 'p' in o
}

async function usedIndex(server: TestServer, path: string, query: object): Promise<string> {
  const explained = await server.ask('POST', `${path}/_explain`, { body: query })
  return (explained.json as { index: { name: string } }).index.name
}

/** Undefined when no index serves the sort. */
async function allPages(
  server: TestServer,
  path: string,
  query: { readonly limit: number },
): Promise<string[] | undefined> {
  const ids: string[] = []
  let bookmark: JsonValue = null
  for (;;) {
    const answer = await server.ask('POST', `${path}/_find`, { body: { ...query, bookmark } })
    const json = answer.json as { docs: { _id: string }[]; bookmark?: string; error?: string }
    if (json.error === 'no_usable_index') return undefined
    // Two text indexes without a name to choose by.
    if (json.error === 'multiple_text_indexes') return undefined
    assert.equal(answer.status, 200, answer.text + JSON.stringify(query))
    ids.push(...json.docs.map(({ _id }) => _id))
    if (json.docs.length < query.limit) return ids
    bookmark = json.bookmark ?? null
  }
}
