import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALL_DOCS, indexJson } from '../../../../src/core/mango/index-definition.ts'
import {
  addIndex,
  parseBulkDelete,
  parseIndexRequest,
  parseListParameters,
  readIndexes,
  removeIndex,
} from '../../../../src/core/mango/index-request.ts'
import type { JsonObject } from '../../../../src/core/mango/json-value.ts'

const SETTINGS = { textSearch: true }
const parse = (body: JsonObject) => parseIndexRequest(body, SETTINGS)

test('a generated name is the one CouchDB generates', () => {
  const index = parse({ index: { fields: ['n'] } })
  assert.equal(index.name, '3d4fdc43057b07474cd610d0ad5761ead92400bf')
  assert.equal(index.ddoc, '_design/3d4fdc43057b07474cd610d0ad5761ead92400bf')
  const named = parse({ index: { fields: ['n'] }, name: 'x' })
  assert.equal(named.name, 'x')
  assert.match(named.ddoc, /^_design\/[0-9a-f]{40}$/)
  assert.notEqual(named.ddoc, index.ddoc)
  assert.equal(parse({ index: { fields: ['n'] }, ddoc: '_design/d' }).ddoc, '_design/d')
})

test('a JSON index in a design document, and back', () => {
  const index = parse({ index: { fields: ['n', 's'] }, name: 'i', ddoc: 'd' })
  const body = addIndex(undefined, index)
  assert.equal(
    JSON.stringify(body),
    '{"language":"query","views":{"i":{"map":{"fields":{"n":"asc","s":"asc"},"partial_filter_selector":{}},"reduce":"_count","options":{"def":{"fields":["n","s"]}}}}}',
  )
  assert.deepEqual(readIndexes('_design/d', body as JsonObject, SETTINGS), [index])
  assert.equal(addIndex(body, index), undefined)
  assert.deepEqual(indexJson(index), {
    ddoc: '_design/d',
    name: 'i',
    type: 'json',
    partitioned: false,
    def: { fields: [{ n: 'asc' }, { s: 'asc' }] },
  })
})

test('a partial index keeps what was sent and stores it normalised', () => {
  const filter = { status: 'active' }
  const index = parse({
    index: { fields: ['n'], partial_filter_selector: filter },
    name: 'i',
    ddoc: 'd',
  })
  const body = addIndex(undefined, index) as JsonObject
  assert.deepEqual(body.views, {
    i: {
      map: { fields: { n: 'asc' }, partial_filter_selector: { status: { $eq: 'active' } } },
      reduce: '_count',
      options: { def: { fields: ['n'], partial_filter_selector: { status: 'active' } } },
    },
  })
  assert.deepEqual(readIndexes('_design/d', body, SETTINGS), [index])
  assert.deepEqual(indexJson(index).def, {
    fields: [{ n: 'asc' }],
    partial_filter_selector: { status: { $eq: 'active' } },
  })
})

test('columns with names like integers keep their order through a design document', () => {
  const index = parse({ index: { fields: ['b', '1'] }, name: 'i', ddoc: 'd' })
  const stored = JSON.parse(JSON.stringify(addIndex(undefined, index))) as JsonObject
  assert.deepEqual(readIndexes('_design/d', stored, SETTINGS), [index])
})

test('indexes join and leave a design document', () => {
  const first = addIndex(
    undefined,
    parse({ index: { fields: ['a'] }, name: 'i1', ddoc: 'd' }),
  ) as JsonObject
  const second = addIndex(
    first,
    parse({ index: { fields: ['b'] }, name: 'i2', ddoc: 'd' }),
  ) as JsonObject
  assert.deepEqual(Object.keys(second.views as JsonObject), ['i1', 'i2'])
  const replaced = addIndex(
    second,
    parse({ index: { fields: ['c'] }, name: 'i1', ddoc: 'd' }),
  ) as JsonObject
  assert.deepEqual(Object.keys(replaced.views as JsonObject), ['i1', 'i2'])
  assert.equal(removeIndex(second, 'json', 'nope'), undefined)
  assert.equal(removeIndex(second, 'text', 'i1'), undefined)
  assert.equal(removeIndex(second, 'special', '_all_docs'), undefined)
  const left = removeIndex(second, 'json', 'i1')
  assert.deepEqual(left && Object.keys(left.views as JsonObject), ['i2'])
  assert.equal(removeIndex(first, 'json', 'i1'), null)
})

test('a text index in a design document, and back', () => {
  const index = parse({
    type: 'text',
    index: { fields: [{ name: 'a', type: 'string' }], default_field: { enabled: true } },
    name: 't',
    ddoc: 'd',
  })
  const body = addIndex(undefined, index) as JsonObject
  const stored = (body.indexes as JsonObject).t as JsonObject
  assert.deepEqual(stored.analyzer, {
    name: 'perfield',
    default: 'keyword',
    fields: { $default: 'standard' },
  })
  assert.deepEqual(readIndexes('_design/d', body, SETTINGS), [index])
  assert.deepEqual(readIndexes('_design/d', body, { textSearch: false }), [])
  assert.deepEqual((indexJson(index).def as JsonObject).fields, [{ a: 'string' }])
  const all = parse({ type: 'text', index: {}, name: 't', ddoc: 'd' })
  assert.equal(all.fields, 'all')
  const plain = parse({ type: 'text', index: { default_field: false }, name: 't', ddoc: 'd' })
  assert.equal(
    ((addIndex(undefined, plain) as JsonObject).indexes as Record<string, JsonObject>).t?.analyzer,
    'keyword',
  )
})

const ERRORS: readonly (readonly [JsonObject, string, string | undefined])[] = [
  [{}, 'missing_required_key', 'Missing required key: index'],
  [{ index: 5 }, 'invalid_index', 'JSON indexes must be an object, not: 5'],
  [{ index: {} }, 'missing_required_key', 'Missing required key: fields'],
  [{ index: { fields: 5 } }, 'invalid_sort_json', undefined],
  [{ index: { fields: [''] } }, 'invalid_sort_field', undefined],
  [{ index: { fields: [{ a: 'desc' }, { b: 'asc' }] } }, 'unsupported_mixed_sort', undefined],
  [{ index: { fields: ['a'], bogus: 1 } }, 'invalid_key', 'Invalid key bogus for this request.'],
  [{ index: { fields: ['a'], partial_filter_selector: 5 } }, 'invalid_selector_json', undefined],
  [
    { index: { fields: ['a'] }, partial_filter_selector: {} },
    'invalid_key',
    'Invalid key partial_filter_selector for this request.',
  ],
  [
    { index: { fields: ['a'] }, name: '' },
    'invalid_empty_string',
    'Index name or ddoc cannot be empty string',
  ],
  [
    { index: { fields: ['a'] }, ddoc: '' },
    'invalid_empty_string',
    'Index name or ddoc cannot be empty string',
  ],
  [{ index: { fields: ['a'] }, name: 5 }, 'invalid_string', 'A string is needed here, not: 5'],
  [{ index: { fields: ['a'] }, type: 'foo' }, 'invalid_index', 'Invalid type for index: foo'],
  [{ index: { fields: ['a'] }, w: 0 }, 'invalid_pos_integer', undefined],
  [{ index: { fields: ['a'] }, partitioned: 5 }, 'invalid_boolean', undefined],
  [
    { index: 5, type: 'text' },
    'invalid_index',
    'The definition of a text index is an object, not: 5',
  ],
  [{ index: { fields: ['a'] }, type: 'text' }, 'invalid_index_fields_definition', undefined],
  [
    { index: { fields: [{ name: '', type: 'string' }] }, type: 'text' },
    'invalid_index_fields_definition',
    undefined,
  ],
  [
    { index: { fields: [{ name: 'a', type: 'date' }] }, type: 'text' },
    'invalid_index_fields_definition',
    undefined,
  ],
  [{ index: { fields: 5 }, type: 'text' }, 'invalid_index_fields_definition', undefined],
]

for (const [body, error, reason] of ERRORS) {
  test(`${JSON.stringify(body)} is refused: ${error}`, () => {
    assert.throws(
      () => parse(body),
      (failure: { detail: { error: string; reason: string } }) => {
        assert.equal(failure.detail.error, error)
        if (reason !== undefined) assert.equal(failure.detail.reason, reason)
        return true
      },
    )
  })
}

test('text without a search service, and a design document of another language', () => {
  assert.throws(() => parseIndexRequest({ index: {}, type: 'text' }, { textSearch: false }), {
    code: 'service_unavailable',
    detail: { error: 'required index service unavailable', reason: 'text' },
  })
  const index = parse({ index: { fields: ['a'] } })
  assert.throws(() => addIndex({ language: 'javascript' }, index), { code: 'index_invalid' })
  assert.throws(() => addIndex({ views: {} }, index), { code: 'index_invalid' })
  assert.deepEqual(readIndexes('_design/d', { views: {} }, SETTINGS), [])
})

test('partitioned is kept on the design document and must agree', () => {
  const index = parseIndexRequest(
    { index: { fields: ['a'] }, partitioned: false },
    { textSearch: true, partitioned: true },
  )
  assert.equal(index.partitioned, false)
  const body = addIndex(undefined, index, false) as JsonObject
  assert.deepEqual(body.options, { partitioned: false })
  assert.equal(
    readIndexes('_design/d', body, { textSearch: true, partitioned: true })[0]?.type,
    'json',
  )
  assert.throws(() => addIndex(body, index, true), { code: 'index_invalid' })
})

test('the index of all documents, bulk deletes, list parameters', () => {
  assert.deepEqual(indexJson(ALL_DOCS), {
    ddoc: null,
    name: '_all_docs',
    type: 'special',
    def: { fields: [{ _id: 'asc' }] },
  })
  assert.deepEqual(parseBulkDelete({ docids: ['a', '_design/b'] }), ['_design/a', '_design/b'])
  assert.throws(() => parseBulkDelete({ docids: [null] }), { code: 'index_invalid' })
  assert.deepEqual(parseListParameters('5', '2'), { limit: 5, skip: 2 })
  for (const limit of ['0', '-1', 'x']) {
    assert.throws(() => parseListParameters(limit, undefined), { code: 'index_list_invalid' })
  }
})
