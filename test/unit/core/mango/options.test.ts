import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeBookmark, encodeBookmark } from '../../../../src/core/mango/bookmark.ts'
import type { JsonObject, JsonValue } from '../../../../src/core/mango/json-value.ts'
import { optionsJson, parseFindOptions } from '../../../../src/core/mango/options.ts'

test('defaults, as _explain shows them', () => {
  assert.deepEqual(optionsJson(parseFindOptions({ selector: {} })), {
    use_index: [],
    bookmark: 'nil',
    limit: 25,
    skip: 0,
    sort: {},
    fields: [],
    partition: '',
    r: 1,
    conflicts: false,
    stale: false,
    update: true,
    stable: false,
    execution_stats: false,
    allow_fallback: true,
  })
  assert.equal(parseFindOptions({ selector: {} }, { defaultLimit: 7 }).limit, 7)
})

const ERRORS: readonly (readonly [JsonObject, string, string | undefined])[] = [
  [{}, 'missing_required_key', 'Missing required key: selector'],
  [{ selector: {}, bogus: 1 }, 'invalid_key', 'Invalid key bogus for this request.'],
  [{ selector: 5, bogus: 1 }, 'invalid_selector_json', undefined],
  [
    { selector: {}, limit: -1 },
    'invalid_non_neg_integer',
    '-1 is not an integer greater than or equal to zero',
  ],
  [
    { selector: {}, limit: 1.5 },
    'invalid_non_neg_integer',
    '1.5 is not an integer greater than or equal to zero',
  ],
  [{ selector: {}, skip: 'x' }, 'invalid_non_neg_integer', undefined],
  [{ selector: {}, r: 0 }, 'invalid_pos_integer', '0 is not an integer greater than zero'],
  [
    { selector: {}, fields: 'x' },
    'invalid_fields',
    'Fields must be an array of strings, not: <<120>>',
  ],
  [{ selector: {}, fields: [5] }, 'invalid_field', 'Invalid JSON for field spec: 5'],
  [{ selector: {}, fields: ['a..b'] }, 'invalid_field_name', 'Invalid field name: a..b'],
  [
    { selector: {}, sort: 'x' },
    'invalid_sort_json',
    'Sort must be an array of sort specs, not: <<"x">>',
  ],
  [{ selector: {}, sort: [5] }, 'invalid_sort_field', 'Invalid sort field: 5'],
  [{ selector: {}, sort: [''] }, 'invalid_sort_field', undefined],
  [{ selector: {}, sort: [{ a: 'up' }] }, 'invalid_sort_field', undefined],
  [{ selector: {}, sort: [{ a: 'asc', b: 'asc' }] }, 'invalid_sort_field', undefined],
  [
    { selector: {}, sort: [{ a: 'asc' }, { b: 'desc' }] },
    'unsupported_mixed_sort',
    'Sorts currently only support a single direction for all fields.',
  ],
  [{ selector: {}, conflicts: 5 }, 'invalid_boolean', 'Invalid boolean value: 5'],
  [{ selector: {}, update: 'x' }, 'invalid_boolean', undefined],
  [{ selector: {}, stable: 0 }, 'invalid_boolean', undefined],
  [{ selector: {}, execution_stats: null }, 'invalid_boolean', undefined],
  [{ selector: {}, allow_fallback: 1 }, 'invalid_boolean', undefined],
  [{ selector: {}, stale: 'maybe' }, 'invalid_value', undefined],
  [{ selector: {}, use_index: 5 }, 'invalid_index_name', 'Invalid index name: 5'],
  [{ selector: {}, use_index: ['a', 'b', 'c'] }, 'invalid_index_name', undefined],
  [{ selector: {}, bookmark: 'zzz' }, 'invalid_bookmark', 'Invalid bookmark value: "zzz"'],
  [{ selector: {}, bookmark: 5 }, 'invalid_bookmark', 'Invalid bookmark value: 5'],
]

for (const [body, error, reason] of ERRORS) {
  test(`${JSON.stringify(body)} is refused: ${error}`, () => {
    assert.throws(
      () => parseFindOptions(body),
      (failure: { code: string; detail: { error: string; reason: string } }) => {
        assert.equal(failure.code, 'mango_invalid')
        assert.equal(failure.detail.error, error)
        if (reason !== undefined) assert.equal(failure.detail.reason, reason)
        return true
      },
    )
  })
}

const USE_INDEX: readonly (readonly [JsonValue, readonly string[]])[] = [
  [null, []],
  [[], []],
  ['d', ['d']],
  ['_design/d', ['d']],
  ['d/n', ['d', 'n']],
  ['_design/d/n', ['d', 'n']],
  [['d'], ['d']],
  [
    ['_design/d', 'n'],
    ['d', 'n'],
  ],
]

for (const [given, expected] of USE_INDEX) {
  test(`use_index ${JSON.stringify(given)}`, () => {
    assert.deepEqual(parseFindOptions({ selector: {}, use_index: given }).useIndex, expected)
  })
}

test('bookmarks come back as they were; "nil", null and "" are none', () => {
  for (const key of [null, 5, 'ü', [1, { a: 'b' }], ['\uffff']]) {
    const bookmark = { kind: 'row', id: 'dö/c"1', key } as const
    assert.deepEqual(decodeBookmark(encodeBookmark(bookmark)), bookmark)
    assert.match(encodeBookmark(bookmark), /^[\w-]+$/)
  }
  for (const none of [null, '', 'nil']) {
    assert.equal(parseFindOptions({ selector: {}, bookmark: none }).bookmark, undefined)
  }
})
