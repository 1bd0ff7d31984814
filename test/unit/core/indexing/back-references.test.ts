import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  decodeBackReferences,
  encodeBackReferences,
} from '../../../../src/core/indexing/back-references.ts'

const rowsOf = (keys: readonly unknown[]) =>
  keys.map(key => ({
    keyText: Buffer.from(JSON.stringify(key)),
    valueText: Buffer.from('1'),
  }))

test('references give back the different keys of each tree', () => {
  const words = ['anna', 'maria', 'anna', 'mariam', '']
  const twoForms = words.flatMap(word => [[word], ['form', word]])
  const rows = [rowsOf(twoForms), [], rowsOf([1, 1, 12, null])]
  const found = decodeBackReferences(encodeBackReferences({ id: 'a', rows }) as Buffer)
  assert.deepEqual(
    found.map(({ tree, keyText }) => `${tree} ${keyText}`),
    [
      ...['["anna"]', '["form","anna"]', '["maria"]', '["form","maria"]'].map(key => `0 ${key}`),
      ...['["mariam"]', '["form","mariam"]', '[""]', '["form",""]'].map(key => `0 ${key}`),
      ...['2 1', '2 12', '2 null'],
    ],
  )
})

test('a document without rows has no references', () => {
  assert.equal(encodeBackReferences({ id: 'a', rows: [[], []] }), undefined)
})

test('one document says nothing of another', () => {
  const one = encodeBackReferences({ id: 'a', rows: [rowsOf(['x1', 'x2'])] })
  encodeBackReferences({ id: 'b', rows: [rowsOf(['x1', 'x9'])] })
  assert.deepEqual(encodeBackReferences({ id: 'a', rows: [rowsOf(['x1', 'x2'])] }), one)
})
