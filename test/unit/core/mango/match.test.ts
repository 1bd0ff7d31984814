import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCollator } from '../../../../src/base/collate/collator.ts'
import type { JsonObject, JsonValue } from '../../../../src/core/mango/json-value.ts'
import { compileMatcher } from '../../../../src/core/mango/match.ts'
import { parseSelector } from '../../../../src/core/mango/parse-selector.ts'
import { asksForNothing } from '../../../../src/core/mango/selector.ts'
import { viewCompare } from '../../../../src/core/mango/view-compare.ts'
import { CASES, PEOPLE } from './selector-cases.ts'

const compare = viewCompare(openCollator())
const matches = (selector: JsonObject, document: JsonValue) =>
  compileMatcher(parseSelector(selector), { compare })(document)

for (const [group, selector, ids] of CASES) {
  test(`${group}: ${JSON.stringify(selector)}`, () => {
    const parsed = parseSelector(selector)
    const matcher = compileMatcher(parsed, { compare })
    const found = asksForNothing(parsed) ? [] : PEOPLE.filter(matcher)
    assert.equal(found.map(document => document._id).join(' '), ids)
  })
}

const TABLE: readonly (readonly [JsonObject, JsonValue, boolean])[] = [
  // A missing field fails every condition but one.
  [{ a: { $ne: 1 } }, {}, false],
  [{ a: { $nin: [1] } }, {}, false],
  [{ a: { $not: { $regex: 'x' } } }, {}, false],
  [{ $not: { a: 1 } }, {}, false],
  [{ a: { $exists: false } }, {}, true],
  [{ a: { $exists: false } }, { a: null }, false],
  [{ 'a.b': { $exists: false } }, { a: {} }, true],
  [{ 'a.b': { $exists: false } }, { a: 5 }, false],
  [{ a: { $not: { $regex: 'x' } } }, { a: 'y' }, true],
  // Types stand in view order.
  [{ a: { $lt: 'y' } }, { a: null }, true],
  [{ a: { $lt: 'y' } }, { a: 5 }, true],
  [{ a: { $lt: 'y' } }, { a: [] }, false],
  [{ a: { $gt: 'B' } }, { a: 'a' }, false],
  [{ a: { $lt: 'B' } }, { a: 'a' }, true],
  [{ a: { $gt: false } }, { a: true }, true],
  // _id by bytes.
  [{ _id: { $gt: 'B' } }, { _id: 'a' }, true],
  [{ _id: { $lt: '\u{1f600}' } }, { _id: '\uffee' }, true],
  [{ _id: { $gt: {} } }, { _id: 'a' }, true],
  [{ _id: { $gt: null } }, { _id: '' }, true],
  // Lists.
  [{ a: { $in: [] } }, { a: 1 }, false],
  [{ a: { $nin: [] } }, { a: 1 }, true],
  [{ a: { $all: [] } }, { a: [] }, false],
  [{ a: { $all: [['x', 'y']] } }, { a: ['x', 'y'] }, true],
  [{ a: { $all: ['x'] } }, { a: 'x' }, false],
  [{ a: { $allMatch: { $gt: 0 } } }, { a: [] }, false],
  [{ a: { $elemMatch: { $not: { k: 1 } } } }, { a: [{ j: 1 }] }, true],
  [{ a: { $elemMatch: { $nor: [{ k: 1 }, { k: 2 }] } } }, { a: [{ k: 1 }, { k: 3 }] }, true],
  [{ a: { $elemMatch: { $nor: [{ k: 1 }, { k: 2 }] } } }, { a: [{ k: 1 }, { k: 2 }] }, false],
  // Others.
  [{ a: { $type: 'bogus' } }, { a: 1 }, false],
  [{ a: { $mod: [2, 1] } }, { a: 3 }, true],
  [{ a: { $mod: [2, -1] } }, { a: -3 }, true],
  [{ a: { $mod: [2, 1] } }, { a: 3.5 }, false],
  [{ a: {} }, { a: {} }, true],
  [{ a: {} }, { a: { b: 1 } }, false],
  [{ b: 1, $or: [] }, { b: 1 }, true],
  [{ b: 1, $and: [] }, { b: 1 }, true],
  [{ $text: 'x' }, {}, true],
  [{ a: 'é' }, { a: 'e\u0301' }, true],
  [{ a: 'a\u0000' }, { a: 'a' }, true],
  // Names that objects of the language have by themselves.
  [{ constructor: { $exists: true } }, {}, false],
  [{ toString: { $exists: false } }, {}, true],
  [JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":1}'), true],
  [JSON.parse('{"__proto__":{"$exists":true}}'), {}, false],
  [{ 'list.1': 'b' }, { list: ['a', 'b'] }, true],
  [{ 'list.2': { $exists: false } }, { list: ['a', 'b'] }, false],
  [{ 'list.length': 2 }, { list: ['a', 'b'] }, false],
]

for (const [selector, document, expected] of TABLE) {
  test(`${JSON.stringify(selector)} on ${JSON.stringify(document)} is ${expected}`, () => {
    assert.equal(matches(selector, document), expected)
  })
}

test('a pattern that explodes ends in a timeout, alone or by the steps of the whole request', () => {
  const selector = parseSelector({ a: { $regex: '^(a+)+$' } })
  const evil = { a: `${'a'.repeat(60)}b` }
  assert.throws(() => compileMatcher(selector, { compare })(evil), { code: 'timeout' })
  const steps = { stepsLeft: 100 }
  const matcher = compileMatcher(selector, { compare, steps })
  assert.equal(matcher({ a: 'aa' }), true)
  assert.throws(
    () => {
      for (let round = 0; round < 100; round++) matcher({ a: 'aa' })
    },
    { code: 'timeout' },
  )
})

test('no two printable ASCII characters sort alike, which equality relies on', () => {
  const chars = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at))
  for (const a of chars) {
    for (const b of chars) assert.equal(compare(a, b) === 0, a === b, `${a} ${b}`)
  }
})
