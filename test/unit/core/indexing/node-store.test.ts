import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BlockWriter } from '../../../../src/core/indexing/block-writer.ts'
import { NodeCache } from '../../../../src/core/indexing/node-store.ts'
import { RowBlock, WIRE_FRAME } from '../../../../src/core/indexing/row-block.ts'

function blockOf(id: string): RowBlock {
  const writer = new BlockWriter()
  const text = Buffer.from(JSON.stringify(id))
  writer.addKey(text, 0, text.length)
  writer.addId(text, 0, text.length)
  writer.addValue(text, 0, text.length)
  return new RowBlock(writer.finish(), WIRE_FRAME)
}

const SIZE = blockOf('x').byteLength

test('the cache keeps what is used and never more than it may', () => {
  const cache = new NodeCache(10 * SIZE)
  const favourite = blockOf('f')
  cache.set('one', 0, favourite)
  for (let number = 1; number < 100; number++) {
    cache.set(number % 2 === 0 ? 'one' : 'two', number, blockOf('x'))
    assert.equal(cache.get('one', 0), favourite)
    assert.ok(cache.bytes <= 10 * SIZE)
  }
  const kept = Array.from({ length: 100 }, (_, number) => number).filter(
    number => cache.get(number % 2 === 0 ? 'one' : 'two', number) !== undefined,
  )
  assert.deepEqual(kept, [0, 91, 92, 93, 94, 95, 96, 97, 98, 99])
})

test('nodes of two incarnations are told apart, and one that comes again counts once', () => {
  const cache = new NodeCache(10 * SIZE)
  cache.set('one', 7, blockOf('a'))
  assert.equal(cache.get('two', 7), undefined)
  const again = blockOf('b')
  cache.set('one', 7, again)
  assert.equal(cache.get('one', 7), again)
  assert.equal(cache.bytes, SIZE)
})

test('a cache for nothing keeps nothing, and one that was full of used nodes makes room', () => {
  const none = new NodeCache(0)
  none.set('one', 1, blockOf('a'))
  assert.equal(none.get('one', 1), undefined)
  assert.equal(none.bytes, 0)
  const full = new NodeCache(3 * SIZE)
  for (let number = 0; number < 3; number++) full.set('one', number, blockOf('a'))
  for (let number = 0; number < 3; number++) full.get('one', number)
  full.set('one', 3, blockOf('a'))
  assert.equal(full.bytes, 3 * SIZE)
})
