/**
 * Every plan finds what a plain scan by the matcher finds: random documents of mixed types, random
 * selectors, random indexes held in memory as sorted lists of keys.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCollator } from '../../src/base/collate/collator.ts'
import { compareCodePoints } from '../../src/core/mango/compare-raw.ts'
import { parseFieldPath } from '../../src/core/mango/field-path.ts'
import {
  ALL_DOCS,
  columnNames,
  type IndexDefinition,
  type JsonIndex,
} from '../../src/core/mango/index-definition.ts'
import { compileIndexKey } from '../../src/core/mango/index-entries.ts'
import { parseIndexRequest } from '../../src/core/mango/index-request.ts'
import type { JsonObject, JsonValue } from '../../src/core/mango/json-value.ts'
import { compileMatcher } from '../../src/core/mango/match.ts'
import { parseFindOptions } from '../../src/core/mango/options.ts'
import { parseSelector } from '../../src/core/mango/parse-selector.ts'
import { type Plan, planFind } from '../../src/core/mango/plan.ts'
import { documentFromKey } from '../../src/core/mango/projection.ts'
import { selectorJson } from '../../src/core/mango/selector.ts'
import { viewCompare } from '../../src/core/mango/view-compare.ts'
import {
  FIELDS,
  makeRandom,
  type Random,
  randomDocuments,
  randomSelector,
  randomValue,
} from '../support/random-selectors.ts'

const seed = Number(process.env.GURNEY_SEED ?? Math.floor(Math.random() * 2 ** 31))
const RUN_MS = 4000
const collator = openCollator()
const compare = viewCompare(collator)

function randomIndexes(random: Random): IndexDefinition[] {
  const made = Array.from({ length: random.below(4) }, (_, at) => {
    const fields = [
      ...new Set(Array.from({ length: 1 + random.below(3) }, () => random.pick(FIELDS))),
    ]
    return parseIndexRequest(
      { index: { fields }, name: `i${at}`, ddoc: 'd' },
      { textSearch: false },
    )
  })
  return [ALL_DOCS, ...made]
}

interface Row {
  readonly key: readonly JsonValue[]
  readonly id: string
  readonly document: JsonObject
}

/** The index in memory, in the order a real one has. */
function rowsOf(index: JsonIndex, documents: readonly JsonObject[]): Row[] {
  const keyOf = compileIndexKey(index, { compare })
  const rows = documents.flatMap(document => {
    const key = keyOf(document)
    return key ? [{ key, id: String(document._id), document }] : []
  })
  return rows.sort((a, b) => compare(a.key, b.key) || compareCodePoints(a.id, b.id))
}

const prefixOrder = (key: readonly JsonValue[], bound: readonly JsonValue[]) =>
  compare(key.slice(0, bound.length), bound)

function runPlan(plan: Plan, documents: readonly JsonObject[]): JsonObject[] {
  if (plan.isEmpty) return []
  if (plan.kind === 'ids') {
    const { low, high } = plan.range
    const sorted = documents.toSorted((a, b) => compareCodePoints(String(a._id), String(b._id)))
    const found = sorted.filter(
      ({ _id }) =>
        (low === undefined || compareCodePoints(String(_id), low) >= 0) &&
        (high === undefined || compareCodePoints(String(_id), high) <= 0),
    )
    return plan.reverse ? found.reverse() : found
  }
  assert.equal(plan.kind, 'keys')
  if (plan.kind !== 'keys') return []
  const { low, high } = plan.range
  const rows = rowsOf(plan.index, documents).filter(
    ({ key }) => compare(key, low) >= 0 && prefixOrder(key, high) <= 0,
  )
  if (plan.reverse) rows.reverse()
  const columns = columnNames(plan.index).map(parseFieldPath)
  return rows.map(row => (plan.covering ? documentFromKey(row.id, columns, row.key) : row.document))
}

test(`plans find what a scan finds (seed ${seed})`, t => {
  const random = makeRandom(seed)
  const end = performance.now() + RUN_MS
  let rounds = 0
  const used = { keys: 0, ids: 0, text: 0, covering: 0, empty: 0, sorted: 0 }
  while (performance.now() < end) {
    rounds++
    const documents = randomDocuments(random)
    const selector = randomSelector(random)
    const indexes = randomIndexes(random)
    const sortIndex = random.chance(0.2) ? random.pick(indexes) : ALL_DOCS
    const sort =
      sortIndex.type === 'json'
        ? columnNames(sortIndex).map(name => ({ [name]: rounds % 2 ? 'asc' : 'desc' }))
        : []
    const fields = random.chance(0.3) ? ['_id', ...columnNames(random.pick(indexes))] : []
    const options = parseFindOptions({ selector, sort, fields })
    const plan = planFind(options, indexes, { compare })
    const matches = compileMatcher(options.selector, { compare })
    const found = runPlan(plan, documents)
      .filter(matches)
      .map(({ _id }) => String(_id))
    const hasSortFields =
      sort.length > 0 ? compileIndexKey(sortIndex as JsonIndex, { compare }) : () => []
    const expected = documents.filter(document => matches(document) && hasSortFields(document))
    const story = JSON.stringify({ seed, rounds, selector, indexes, sort, fields })
    assert.deepEqual(found.toSorted(), expected.map(({ _id }) => String(_id)).toSorted(), story)
    const again = compileMatcher(parseSelector(selectorJson(options.selector)), { compare })
    for (const document of documents) assert.equal(again(document), matches(document), story)
    used[plan.kind]++
    if (plan.covering) used.covering++
    if (plan.isEmpty) used.empty++
    if (sort.length > 0) used.sorted++
  }
  t.diagnostic(`${rounds} rounds, ${JSON.stringify(used)}`)
  assert.ok(used.keys > 0 && used.ids > 0)
})

test(`values compare as their sort keys do (seed ${seed})`, () => {
  const random = makeRandom(seed)
  for (let round = 0; round < 20_000; round++) {
    const a = randomValue(random)
    const b = randomValue(random)
    const keys = collator.compare(JSON.stringify(a), JSON.stringify(b))
    assert.equal(Math.sign(compare(a, b)), Math.sign(keys), `${JSON.stringify([a, b])}`)
  }
})
