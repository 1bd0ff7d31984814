import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCollator } from '../../../../src/base/collate/collator.ts'
import { explainFind } from '../../../../src/core/mango/explain.ts'
import { ALL_DOCS, type IndexDefinition } from '../../../../src/core/mango/index-definition.ts'
import { parseIndexRequest } from '../../../../src/core/mango/index-request.ts'
import type { JsonObject, JsonValue } from '../../../../src/core/mango/json-value.ts'
import { parseFindOptions } from '../../../../src/core/mango/options.ts'
import { planFind, scanWarning } from '../../../../src/core/mango/plan.ts'
import { viewCompare } from '../../../../src/core/mango/view-compare.ts'

const settings = { compare: viewCompare(openCollator()), textSearch: false }
const NO_INDEX = 'No matching index found, create an index to optimize query time.'

const json = (name: string, fields: JsonValue, partial?: JsonObject): IndexDefinition =>
  parseIndexRequest(
    { index: { fields, ...(partial && { partial_filter_selector: partial }) }, name, ddoc: name },
    { textSearch: true },
  )
const text = (name: string, index: JsonObject): IndexDefinition =>
  parseIndexRequest({ type: 'text', index, name, ddoc: name }, { textSearch: true })

const AGE = [ALL_DOCS, json('age', ['age'])]
const SORTS = [
  ALL_DOCS,
  json('age', ['age']),
  json('city-age', ['city', 'age']),
  json('city', ['city']),
]

const plan = (body: JsonObject, indexes: readonly IndexDefinition[] = AGE) =>
  planFind(parseFindOptions(body), indexes, settings)
const explain = (body: JsonObject, indexes: readonly IndexDefinition[] = AGE) =>
  explainFind('db', parseFindOptions(body), indexes, settings)

/** Query, name of the index, warnings. */
const CHOICES: readonly (readonly [JsonObject, string, readonly string[]])[] = [
  [{ selector: { name: 'Ann' } }, '_all_docs', [NO_INDEX]],
  [{ selector: { age: 30 } }, 'age', []],
  [{ selector: { age: { $ne: 30 } } }, 'age', []],
  [{ selector: { age: { $exists: true } } }, 'age', []],
  [{ selector: { age: { $exists: false } } }, '_all_docs', [NO_INDEX]],
  [{ selector: { age: { $regex: 'x' } } }, 'age', []],
  [{ selector: { age: 30, city: 'Oslo' } }, 'age', []],
  [{ selector: { $or: [{ age: 30 }, { age: 25 }] } }, 'age', []],
  [{ selector: { $or: [{ age: 30 }, { city: 'x' }] } }, '_all_docs', [NO_INDEX]],
  [{ selector: { name: 'x', $or: [] } }, '_all_docs', [NO_INDEX]],
  [
    { selector: { name: 'Ann' }, use_index: 'age' },
    '_all_docs',
    [
      '_design/age was not used because it does not contain a valid index for this query.',
      NO_INDEX,
    ],
  ],
  [
    { selector: { name: 'Ann' }, use_index: ['age', 'age'] },
    '_all_docs',
    ['_design/age, age was not used because it is not a valid index for this query.', NO_INDEX],
  ],
  [{ selector: { age: 30 }, use_index: '_design/age' }, 'age', []],
  [
    { selector: { age: 30 }, use_index: ['age', 'nope'] },
    'age',
    ['_design/age, nope was not used because it is not a valid index for this query.'],
  ],
  [{ selector: { _id: { $gt: 'p1' } } }, '_all_docs', [NO_INDEX]],
  [{ selector: {} }, '_all_docs', [NO_INDEX]],
]

for (const [body, name, warnings] of CHOICES) {
  test(`${JSON.stringify(body)} is answered by ${name}`, () => {
    const chosen = plan(body)
    assert.equal(chosen.index.name, name)
    assert.deepEqual(chosen.warnings, warnings)
  })
}

/** Sorted queries: the index, or none. */
const SORTED: readonly (readonly [JsonObject, JsonValue, string | undefined])[] = [
  [{ age: { $gt: null } }, ['age'], 'age'],
  [{ age: { $gt: null } }, [{ age: 'desc' }], 'age'],
  [{ city: { $gt: null } }, ['city', 'age'], 'city-age'],
  [{ city: 'Oslo' }, ['age'], 'city-age'],
  [{ city: { $gt: 'A' } }, ['age'], 'age'],
  [{ city: { $gt: 'A' } }, ['age', 'name'], undefined],
  [{ name: { $gt: null } }, ['name'], undefined],
  [{ age: { $gt: null } }, ['city'], 'city'],
  [{ _id: { $gt: null } }, ['_id'], '_all_docs'],
  [{ name: 1 }, ['_id'], undefined],
]

for (const [selector, sort, name] of SORTED) {
  test(`${JSON.stringify(selector)} sorted by ${JSON.stringify(sort)}`, () => {
    const body = { selector, sort }
    if (name === undefined) {
      assert.throws(() => plan(body, SORTS), {
        detail: {
          error: 'no_usable_index',
          reason: 'No index exists for this sort, try indexing by the sort fields.',
        },
      })
      assert.equal(explain(body, SORTS).index, null)
    } else assert.equal(plan(body, SORTS).index.name, name)
  })
}

/** Selector, start_key, end_key over an index on a, b. */
const RANGES: readonly (readonly [JsonObject, JsonValue, JsonValue])[] = [
  [{ a: 1, b: 2 }, [1, 2], [1, 2, '<MAX>']],
  [{ a: 1, b: { $gt: 2 } }, [1, 2], [1, '<MAX>']],
  [{ a: { $gte: 1 }, b: 2 }, [1, 2], ['<MAX>']],
  [{ a: { $lt: 1 }, b: 2 }, [], [1, 2, '<MAX>']],
  [{ a: { $gt: 1, $lte: 9, $gte: 3 }, b: { $exists: true } }, [3], [9, '<MAX>']],
  [{ a: { $beginsWith: 'x' }, b: { $ne: 1 } }, ['x'], ['x\uffff', '<MAX>']],
  [{ a: { $beginsWith: 'xи' }, b: { $ne: 1 } }, ['x'], ['x\uffff', '<MAX>']],
  [{ a: { $beginsWith: 'Élan' }, b: { $ne: 1 } }, ['Élan'], ['Élan\uffff', '<MAX>']],
  [{ a: { $in: [1] }, b: 2 }, [], ['<MAX>']],
]

for (const [selector, start, end] of RANGES) {
  test(`the range of ${JSON.stringify(selector)}`, () => {
    const { mrargs } = explain({ selector }, [ALL_DOCS, json('ab', ['a', 'b'])]) as {
      mrargs: JsonObject
    }
    assert.deepEqual([mrargs.start_key, mrargs.end_key], [start, end])
    const turned = explain({ selector, sort: [{ a: 'desc' }, { b: 'desc' }] }, [
      ALL_DOCS,
      json('ab', ['a', 'b']),
    ])
    const back = turned.mrargs as JsonObject
    assert.deepEqual([back.start_key, back.end_key, back.direction], [end, start, 'rev'])
  })
}

test('a contradiction and an empty combination are not run', () => {
  for (const selector of [
    { age: { $gt: 5, $lt: 3 } },
    { age: { $gt: 5, $lt: 5 } },
    { $or: [] },
    { $and: [] },
  ]) {
    const chosen = plan({ selector })
    assert.equal(chosen.isEmpty, true, JSON.stringify(selector))
    assert.deepEqual(chosen.warnings, [])
  }
  assert.equal(plan({ selector: { age: { $gte: 5, $lte: 5 } } }).isEmpty, false)
  assert.equal(plan({ selector: { _id: { $lt: 5 } } }).isEmpty, true)
  assert.equal(plan({ selector: { other: { $gt: 5, $lt: 3 } } }).isEmpty, false)
})

test('ids: bounds are strings by bytes', () => {
  const range = (selector: JsonObject) => {
    const chosen = plan({ selector })
    return chosen.kind === 'ids' ? chosen.range : undefined
  }
  assert.deepEqual(range({ _id: { $gt: null } }), {})
  assert.deepEqual(range({ _id: 'x' }), { low: 'x', high: 'x' })
  assert.deepEqual(range({ _id: { $gte: 'B', $lt: 'a' } }), { low: 'B', high: 'a' })
  assert.deepEqual(range({ _id: { $beginsWith: 'x' } }), { low: 'x', high: 'x\u{10ffff}' })
})

test('better overlap, then fewer columns, then the name', () => {
  const indexes = [
    ALL_DOCS,
    json('b-wide', ['a', 'b', 'c']),
    json('d-pair', ['a', 'b']),
    json('a-one', ['a']),
    json('c-pair', ['a', 'b']),
  ]
  const body = { selector: { a: 1, b: 2, c: { $regex: 'x' } } }
  assert.equal(plan(body, indexes).index.name, 'c-pair')
  const analyses = (explain(body, indexes).index_candidates as JsonObject[]).map(candidate => [
    (candidate.index as JsonObject).name,
    JSON.stringify(candidate.analysis),
  ])
  assert.deepEqual(analyses, [
    [
      'd-pair',
      '{"usable":true,"reasons":[{"name":"alphabetically_comes_after"}],"ranking":1,"covering":false}',
    ],
    [
      'b-wide',
      '{"usable":true,"reasons":[{"name":"too_many_fields"}],"ranking":2,"covering":false}',
    ],
    ['a-one', '{"usable":true,"reasons":[{"name":"less_overlap"}],"ranking":3,"covering":false}'],
    [
      '_all_docs',
      '{"usable":true,"reasons":[{"name":"unfavored_type"}],"ranking":4,"covering":null}',
    ],
  ])
})

test('partial indexes serve only when named', () => {
  const indexes = [ALL_DOCS, json('part', ['n'], { status: { $ne: 'done' } })]
  assert.equal(plan({ selector: { n: { $gt: 0 } } }, indexes).index.name, '_all_docs')
  assert.equal(plan({ selector: { n: { $gt: 0 } }, use_index: 'part' }, indexes).index.name, 'part')
  const [candidate] = explain({ selector: { n: 1 } }, indexes).index_candidates as JsonObject[]
  assert.deepEqual((candidate as Record<string, JsonObject>).analysis?.reasons, [
    { name: 'is_partial' },
  ])
})

test('covering: columns and the id are all that is asked for', () => {
  const covering = (body: JsonObject) => plan(body).covering
  assert.equal(covering({ selector: { age: 1 }, fields: ['age', '_id'] }), true)
  assert.equal(covering({ selector: { age: 1 }, fields: ['age', 'name'] }), false)
  assert.equal(covering({ selector: { age: 1, name: 'x' }, fields: ['age'] }), false)
  assert.equal(covering({ selector: { age: 1 } }), false)
  assert.equal(covering({ selector: { age: 1 }, fields: ['age'], conflicts: true }), false)
})

test('allow_fallback false', () => {
  const refused = (body: JsonObject, reason: string) =>
    assert.throws(() => plan({ ...body, allow_fallback: false }), {
      detail: { error: 'invalid_index', reason },
    })
  refused(
    { selector: { name: 1 }, use_index: 'age' },
    '_design/age specified by `use_index` could not be found or it is not suitable.',
  )
  refused(
    { selector: { age: 1 }, use_index: ['x', 'ix'] },
    '_design/x, ix specified by `use_index` could not be found or it is not suitable.',
  )
  refused({ selector: { name: 1 } }, 'You must specify an index with the `use_index` parameter.')
  assert.equal(
    plan({ selector: { age: 1 }, use_index: 'age', allow_fallback: false }).index.name,
    'age',
  )
  assert.equal(plan({ selector: { age: 1 }, allow_fallback: false }).index.name, 'age')
})

test('text indexes: after JSON, before all documents; $text needs one', () => {
  const indexes = [
    ALL_DOCS,
    json('age', ['age']),
    text('t', { fields: [{ name: 'city', type: 'string' }] }),
  ]
  assert.equal(plan({ selector: { age: 1 } }, indexes).index.name, 'age')
  assert.equal(plan({ selector: { city: 'x' } }, indexes).index.name, 't')
  assert.equal(plan({ selector: { city: 5 } }, indexes).index.name, '_all_docs')
  assert.equal(plan({ selector: { $text: 'x' } }, indexes).index.name, 't')
  assert.equal(
    plan({ selector: { $text: 'x', age: 1 } }, [ALL_DOCS, json('age', ['age'])]).index.name,
    '_all_docs',
  )
  assert.equal(plan({ selector: { city: 'x' }, sort: ['city:string'] }, indexes).index.name, 't')
  assert.throws(() => plan({ selector: { $text: 'x' } }, [...indexes, text('u', {})]), {
    detail: {
      error: 'multiple_text_indexes',
      reason: 'You must specify an index with the `use_index` parameter.',
    },
  })
  assert.equal(
    plan({ selector: { $text: 'x' }, use_index: 't' }, [...indexes, text('u', {})]).index.name,
    't',
  )
})

test('the whole of _explain', () => {
  const body = {
    selector: { age: { $gt: 1, $lt: 5 } },
    limit: 3,
    skip: 2,
    fields: ['age'],
    sort: ['age'],
  }
  assert.equal(
    JSON.stringify(explain(body)),
    '{"dbname":"db","index":{"ddoc":"_design/age","name":"age","type":"json","partitioned":false,"def":{"fields":[{"age":"asc"}]}},"partitioned":false,"selector":{"$and":[{"age":{"$gt":1}},{"age":{"$lt":5}}]},"opts":{"use_index":[],"bookmark":"nil","limit":3,"skip":2,"sort":{"age":"asc"},"fields":["age"],"partition":"","r":1,"conflicts":false,"stale":false,"update":true,"stable":false,"execution_stats":false,"allow_fallback":true},"limit":3,"skip":2,"fields":["age"],"index_candidates":[{"index":{"ddoc":null,"name":"_all_docs","type":"special","def":{"fields":[{"_id":"asc"}]}},"analysis":{"usable":false,"reasons":[{"name":"field_mismatch"}],"ranking":1,"covering":null}}],"selector_hints":[{"type":"json","indexable_fields":["age"],"unindexable_fields":[]}],"mrargs":{"include_docs":false,"view_type":"map","reduce":false,"partition":null,"start_key":[1],"end_key":[5,"<MAX>"],"direction":"fwd","stable":false,"update":true,"conflicts":"undefined"},"covering":true}',
  )
})

test('_explain with a sort that nothing serves, and of an $or', () => {
  const unsorted = explain({ selector: { age: { $gt: 5 } }, sort: ['name'] })
  assert.equal(unsorted.index, null)
  assert.equal(unsorted.mrargs, undefined)
  assert.deepEqual(
    (unsorted.index_candidates as JsonObject[]).map(({ index, analysis }) => [
      (index as JsonObject).name,
      (analysis as JsonObject).reasons,
      (analysis as JsonObject).ranking,
    ]),
    [
      ['age', [{ name: 'sort_order_mismatch' }], 1],
      ['_all_docs', [{ name: 'field_mismatch' }], 1],
    ],
  )
  const either = explain({ selector: { $or: [{ age: 1 }, { age: 2 }] } })
  assert.deepEqual(either.selector_hints, [
    { type: 'json', indexable_fields: [], unindexable_fields: ['age'] },
  ])
})

test('the warning about scanning too much', () => {
  assert.equal(scanWarning(100, 10, 10).length, 0)
  assert.equal(scanWarning(101, 10, 10).length, 1)
  assert.equal(scanWarning(11, 0, 10).length, 1)
  assert.equal(scanWarning(1000, 1, 0).length, 0)
})
