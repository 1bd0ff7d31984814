import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import {
  type Fields,
  readDesignDocument,
  validateDesignDocument,
} from '../../../../src/core/document/design-document.ts'

const COMPLAINTS: [Fields, string][] = [
  [{ language: 1 }, '`language` field must have string type'],
  [{ views: 'x' }, '`views` field must have object type'],
  [{ views: [] }, '`views` field must have object type'],
  [{ views: { a: 'x' } }, '`views.a` field must have object type'],
  [{ views: { a: { map: 5 } } }, '`views.a.map` field must have string type'],
  [{ views: { a: { map: {} } } }, '`views.a.map` field must have string type'],
  [{ language: 'query', views: { a: { map: '' } } }, '`views.a.map` field must have object type'],
  [{ views: { a: { map: '', reduce: 7 } } }, '`views.a.reduce` field must have string type'],
  [{ views: { lib: 'x' } }, '`views.lib` field must have object type'],
  [{ views: { a: {} } }, 'View `a` must contain map function'],
  [{ options: [] }, '`options` field must have object type'],
  [{ options: { local_seq: 1 } }, '`options.local_seq` field must have boolean type'],
  [{ filters: { a: 1 } }, '`filters.a` field must have object or string type'],
  [{ lists: null }, '`lists` field must have object type'],
  [{ shows: { s: [] } }, '`shows.s` field must have object or string type'],
  [{ updates: 'x' }, '`updates` field must have object type'],
  [{ rewrites: {} }, '`rewrites` field must have string or array type'],
  [{ validate_doc_update: {} }, '`validate_doc_update` field must have string type'],
  [{ views: { a: { map: '', reduce: '_foo' } } }, '`_foo` is not a supported reduce function.'],
  [{ views: { a: { map: '', reduce: '_top_x' } } }, 'invalid rank reducer'],
  [{ views: { a: { map: '', reduce: '_top_0' } } }, 'rank value must be between 1 and 100'],
  [{ views: { a: { map: '', reduce: '_bottom_101' } } }, 'rank value must be between 1 and 100'],
  [
    { options: { partitioned: true } },
    'partitioned option cannot be true in a non-partitioned database.',
  ],
]

for (const [body, reason] of COMPLAINTS) {
  test(`refuses ${JSON.stringify(body)}`, () => {
    assert.throws(
      () => validateDesignDocument(body),
      thrown => isFailure(thrown, 'design_document_invalid') && thrown.detail.reason === reason,
    )
  })
}

test('accepts what obeys the rules', () => {
  for (const body of [
    {},
    { views: { lib: { x: 'exports.x = 1' }, a: { map: 'function(){}', reduce: '_sum' } } },
    { views: { a: { map: '', reduce: '_top_100' }, b: { map: '', reduce: '_countless' } } },
    { language: 'query', views: { a: { map: { fields: {} }, reduce: '_count' } } },
    { language: 'erlang', rewrites: [], filters: { a: 'x', b: { c: 'y' } }, other: [1] },
  ]) {
    validateDesignDocument(body)
  }
  validateDesignDocument({ options: { partitioned: true } }, { partitioned: true })
})

test('what a design document holds', () => {
  const design = readDesignDocument({
    views: { lib: { l: 'x' }, v: { map: 'm', reduce: '_sum', options: { collation: 'raw' } } },
    options: { local_seq: true },
    filters: { f: 'ff' },
    validate_doc_update: 'vv',
    autoupdate: false,
  })
  assert.equal(design.language, 'javascript')
  assert.deepEqual(design.options, { includeDesign: false, localSeq: true })
  assert.deepEqual(
    [...design.views],
    [['v', { map: 'm', reduce: '_sum', options: { collation: 'raw' } }]],
  )
  assert.deepEqual(design.lib, { l: 'x' })
  assert.deepEqual([...design.filters], [['f', 'ff']])
  assert.equal(design.validateDocUpdate, 'vv')
  assert.equal(design.autoupdate, false)
  assert.equal(design.rewrites, undefined)
})
