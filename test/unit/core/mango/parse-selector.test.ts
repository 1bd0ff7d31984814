import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '../../../../src/core/mango/json-value.ts'
import { parseSelector } from '../../../../src/core/mango/parse-selector.ts'
import {
  indexableFields,
  requiredFields,
  selectorFields,
  selectorJson,
} from '../../../../src/core/mango/selector.ts'

const NORMALISED: readonly (readonly [JsonValue, JsonValue])[] = [
  [{}, {}],
  [{ a: 1 }, { a: { $eq: 1 } }],
  [{ a: {} }, { a: { $eq: {} } }],
  [{ a: [1] }, { a: { $eq: [1] } }],
  [{ a: 1, b: 2 }, { $and: [{ a: { $eq: 1 } }, { b: { $eq: 2 } }] }],
  [{ a: { $gt: 1, $lt: 5 } }, { $and: [{ a: { $gt: 1 } }, { a: { $lt: 5 } }] }],
  [{ o: { p: 1 } }, { 'o.p': { $eq: 1 } }],
  [{ o: { p: 1, q: { $gt: 2 } } }, { $and: [{ 'o.p': { $eq: 1 } }, { 'o.q': { $gt: 2 } }] }],
  [{ a: { $or: [{ $gt: 5 }, { $lt: 1 }] } }, { $or: [{ a: { $gt: 5 } }, { a: { $lt: 1 } }] }],
  [{ $not: { a: { $gt: 10 } } }, { a: { $lte: 10 } }],
  [{ a: { $not: { $lt: 1 } } }, { a: { $gte: 1 } }],
  [{ $nor: [{ a: 1 }, { b: { $in: [1] } }] }, { $and: [{ a: { $ne: 1 } }, { b: { $nin: [1] } }] }],
  [{ $not: { $and: [{ a: 1 }, { b: 1 }] } }, { $or: [{ a: { $ne: 1 } }, { b: { $ne: 1 } }] }],
  [{ $not: { $not: { a: 1 } } }, { a: { $eq: 1 } }],
  [{ $not: { $nor: [{ a: 1 }] } }, { $or: [{ a: { $eq: 1 } }] }],
  [{ $not: { a: { $exists: true } } }, { a: { $exists: false } }],
  [{ $not: { a: { $regex: 'x' } } }, { a: { $not: { $regex: 'x' } } }],
  [{ $not: { a: { $all: [1] } } }, { a: { $not: { $all: [1] } } }],
  [{ $text: 'x' }, { $default: { $text: 'x' } }],
  [{ a: { $elemMatch: { $gt: 1 } } }, { a: { $elemMatch: { '': { $gt: 1 } } } }],
  [{ a: { $beginsWith: 'x' } }, { a: { $beginsWith: 'x' } }],
]

for (const [given, expected] of NORMALISED) {
  test(`${JSON.stringify(given)} is normalised, and stays so`, () => {
    const json = selectorJson(parseSelector(given))
    assert.deepEqual(json, expected)
    assert.deepEqual(selectorJson(parseSelector(json)), expected)
  })
}

const ERRORS: readonly (readonly [JsonValue, string, string | RegExp])[] = [
  [5, 'invalid_selector_json', 'Selector must be a JSON object, not: 5'],
  [[], 'invalid_selector_json', 'Selector must be a JSON object, not: []'],
  ['ab', 'invalid_selector_json', 'Selector must be a JSON object, not: <<97,98>>'],
  [{ a: { $foo: 1 } }, 'invalid_operator', 'Invalid operator: $foo'],
  [{ $foo: 1 }, 'invalid_operator', 'Invalid operator: $foo'],
  [{ a: { $in: 5 } }, 'bad_arg', 'Bad argument for operator $in: 5'],
  [{ a: { $nin: {} } }, 'bad_arg', 'Bad argument for operator $nin: {[]}'],
  [{ a: { $all: 'x' } }, 'bad_arg', 'Bad argument for operator $all: <<120>>'],
  [{ a: { $exists: 'yes' } }, 'bad_arg', /\$exists/],
  [{ a: { $type: 5 } }, 'bad_arg', 'Bad argument for operator $type: 5'],
  [{ a: { $size: -1 } }, 'bad_arg', 'Bad argument for operator $size: -1'],
  [{ a: { $size: 1.5 } }, 'bad_arg', 'Bad argument for operator $size: 1.5'],
  [{ a: { $mod: [0, 1] } }, 'bad_arg', 'Bad argument for operator $mod: [0,1]'],
  [{ a: { $mod: 'x' } }, 'bad_arg', /\$mod/],
  [{ a: { $mod: [1] } }, 'bad_arg', /\$mod/],
  [{ a: { $elemMatch: 5 } }, 'bad_arg', 'Bad argument for operator $elemMatch: 5'],
  [{ a: { $allMatch: [] } }, 'bad_arg', 'Bad argument for operator $allMatch: []'],
  [{ a: { $keyMapMatch: null } }, 'bad_arg', 'Bad argument for operator $keyMapMatch: null'],
  [{ $and: {} }, 'bad_arg', 'Bad argument for operator $and: {[]}'],
  [{ $or: 5 }, 'bad_arg', 'Bad argument for operator $or: 5'],
  [{ $nor: 5 }, 'bad_arg', 'Bad argument for operator $nor: 5'],
  [{ $not: 5 }, 'bad_arg', 'Bad argument for operator $not: 5'],
  [{ $text: {} }, 'bad_arg', 'Bad argument for operator $text: {[]}'],
  [{ a: { $regex: '(' } }, 'bad_arg', 'Bad argument for operator $regex: <<40>>'],
  [{ a: { $regex: 5 } }, 'invalid_operator', 'Invalid operator: $regex'],
  [{ a: { $beginsWith: 5 } }, 'invalid_operator', 'Invalid operator: $beginsWith'],
  [{ $where: 'x' }, 'not_supported', 'Unsupported operator: $where'],
  [{ a: { $near: [] } }, 'not_supported', 'Unsupported operator: $near'],
  [{ $eq: 5 }, 'invalid_selector', 'One or more conditions is missing a field name.'],
  [{ '': 5 }, 'invalid_selector', 'One or more conditions is missing a field name.'],
  [{ 'a..b': 1 }, 'invalid_field_name', 'Invalid field name: a..b'],
  [{ '.a': 1 }, 'invalid_field_name', 'Invalid field name: .a'],
  [{ 'a.': 1 }, 'invalid_field_name', 'Invalid field name: a.'],
  [{ a: { $text: 'x' } }, 'bad_field', /^Invalid field normalization on selector: /],
]

for (const [given, error, reason] of ERRORS) {
  test(`${JSON.stringify(given)} is refused: ${error}`, () => {
    assert.throws(
      () => parseSelector(given),
      (failure: { code: string; detail: { error: string; reason: string } }) => {
        assert.equal(failure.code, 'mango_invalid')
        assert.equal(failure.detail.error, error)
        if (typeof reason === 'string') assert.equal(failure.detail.reason, reason)
        else assert.match(failure.detail.reason, reason)
        return true
      },
    )
  })
}

test('$mod with two arguments that are no integers says so, for the dialect that answers 404', () => {
  for (const argument of [
    [1.5, 0],
    [2, 'a'],
    [2, 0.5],
  ]) {
    assert.throws(
      () => parseSelector({ a: { $mod: argument } }),
      (failure: { detail: { notIntegers: unknown } }) => failure.detail.notIntegers === true,
    )
  }
  assert.throws(
    () => parseSelector({ a: { $mod: [1] } }),
    (failure: { detail: { notIntegers: unknown } }) => failure.detail.notIntegers === undefined,
  )
})

test('a selector nested past all reason is refused, not a stack overflow', () => {
  let deep: JsonValue = 1
  for (let level = 0; level < 50_000; level++) deep = { a: deep }
  assert.throws(() => parseSelector(deep), { code: 'mango_invalid' })
})

test('fields: all, required to exist, and servable by a range', () => {
  const selector = parseSelector({
    a: { $gt: 1 },
    b: { $in: [1] },
    c: { $exists: false },
    $or: [{ d: 1, e: 1 }, { d: 2 }],
  })
  assert.deepEqual(selectorFields(selector), ['a', 'b', 'c', 'd', 'e'])
  assert.deepEqual([...requiredFields(selector)], ['a', 'b', 'd'])
  assert.deepEqual(indexableFields(selector), ['a', 'c'])
  assert.deepEqual([...requiredFields(parseSelector({ b: 1, $or: [] }))], ['b'])
})
