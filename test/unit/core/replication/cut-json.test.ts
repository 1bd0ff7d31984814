import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import { BulkReading } from '../../../../src/core/replication/bulk-reading.ts'
import { elementsOf, ItemCutter, membersOf } from '../../../../src/core/replication/cut-json.ts'
import { fetchedDocument } from '../../../../src/core/replication/fetched-document.ts'

const passes = (thrown: unknown): boolean => isFailure(thrown, 'replication_failed')

function cut(text: string, step: number): { items: string[]; rest: unknown } {
  const cutter = new ItemCutter(1000)
  const bytes = Buffer.from(text)
  const items: string[] = []
  for (let at = 0; at < bytes.length; at += step) {
    for (const item of cutter.push(bytes.subarray(at, at + step))) items.push(item.toString())
  }
  return { items, rest: cutter.end() }
}

const ANSWER =
  '{"results": [\n{"id":"a","x":[{"y":"]}{["}]},\r\n{"id":"\\"é\\\\","z":{}}\n],\n"last_seq":[5,{"a":"é"}],"pending":2}\n'

describe('answers cut into items', () => {
  it('gives the same wherever the chunks end', () => {
    const whole = cut(ANSWER, 10_000)
    assert.deepEqual(whole.items, ['{"id":"a","x":[{"y":"]}{["}]}', '{"id":"\\"é\\\\","z":{}}'])
    assert.deepEqual(whole.rest, { results: [], last_seq: [5, { a: 'é' }], pending: 2 })
    for (let step = 1; step < 20; step++) assert.deepEqual(cut(ANSWER, step), whole)
  })

  it('notices an answer that was cut off, at every byte of it', () => {
    const end = ANSWER.trimEnd().length
    for (let length = 0; length < end; length++) {
      assert.throws(() => cut(ANSWER.slice(0, length), 7), passes, `${length}`)
    }
  })

  it('refuses answers of another shape', () => {
    for (const text of ['[]', '{}', '5', '{"results":{}}', '{"rows":[{"id":"a"}]}', '<html>']) {
      assert.throws(() => cut(text, 5), passes, text)
    }
  })

  it('holds no more of an item than it may', () => {
    assert.throws(() => cut(`{"results":[{"id":"${'x'.repeat(5000)}"}]}`, 100), passes)
  })
})

describe('members and elements', () => {
  it('are found with blanks and without', () => {
    const bytes = Buffer.from(' {"a" : 1 , "b":"x,\\"}" ,"c":[1,{"d":2}], "e":null } ')
    const texts = [...membersOf(bytes, 1)].map(
      ({ key, start, end }) => `${key}=${bytes.toString('utf8', start, end)}`,
    )
    assert.deepEqual(texts, ['a=1', 'b="x,\\"}"', 'c=[1,{"d":2}]', 'e=null'])
    assert.deepEqual([...elementsOf(Buffer.from('[ ]'), 0)], [])
    assert.deepEqual([...membersOf(Buffer.from('{ }'), 0)], [])
  })

  it('fail where the text is broken', () => {
    for (const text of ['', '{', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":"x', '{a:1}', '5']) {
      assert.throws(() => [...membersOf(Buffer.from(text), 0)], passes, text)
    }
  })
})

describe('a document on its way', () => {
  const read = (text: string, id = 'a') => {
    const bytes = Buffer.from(text)
    return fetchedDocument(bytes, { start: 0, end: bytes.length }, id)
  }

  it('tells its revision and its attachments, whatever else is in it', () => {
    const text = '{"_id":"a","_rev":"1-x","_attachments_":1,"x":{"_attachments":{"a":1}}}'
    assert.deepEqual([read(text).rev, read(text).hasAttachments], ['1-x', false])
    assert.equal(read('{"_id":"a","_rev":"1-x","_attachments":{ }}').hasAttachments, false)
    assert.equal(read('{"_attachments":{"f":{}},"_id":"a","_rev":"1-x"}').hasAttachments, true)
    assert.equal(read('{"_id":"\\u0061","_rev":"1-x"}').id, 'a')
  })

  it('is refused when it is another one or nobody', () => {
    for (const text of ['{"_id":"b","_rev":"1-x"}', '{"_id":"a"}', '{"_rev":"1-x"}', '{}', '[]']) {
      assert.throws(() => read(text), passes, text)
    }
  })
})

describe('an answer to a bulk read', () => {
  const wanted = [
    { id: 'a', rev: '1-x' },
    { id: 'b', rev: '1-x' },
    { id: 'b', rev: '2-y' },
  ]
  const item = (id: string, ...docs: object[]) => Buffer.from(JSON.stringify({ id, docs }))
  const ok = (id: string, rev: string) => ({ ok: { _id: id, _rev: rev, v: [{}] } })

  it('remembers what was not answered', () => {
    const reading = new BulkReading(wanted)
    assert.equal(reading.take(item('a', ok('a', '1-x'))).length, 1)
    assert.deepEqual(reading.rest, wanted.slice(1))
    reading.take(item('b', { error: { error: 'not_found', reason: 'missing' } }))
    assert.equal(reading.rest.length, 1)
  })

  it('gives a descendant of two revisions once', () => {
    const reading = new BulkReading(wanted)
    const given = [1, 2].flatMap(() => reading.take(item('b', ok('b', '3-z'))))
    assert.equal(given.length, 1)
  })

  it('leaves aside what nobody asked for', () => {
    const reading = new BulkReading(wanted)
    assert.deepEqual(reading.take(item('c', ok('c', '1-x'))), [])
    assert.deepEqual(reading.take(Buffer.from('{"x":1}')), [])
    assert.equal(reading.rest.length, 3)
  })

  it('does not take a failing document for one that is gone', () => {
    const reading = new BulkReading(wanted)
    const broken = item('a', { error: { error: 'internal_server_error', reason: 'x' } })
    assert.throws(() => reading.take(broken), passes)
    assert.equal(reading.rest.length, 3)
  })

  it('takes several leaves, spelt as others spell them', () => {
    const reading = new BulkReading(wanted)
    const text =
      '{ "docs" : [ {"ok":{"_id":"b","_rev":"1-x"}}, {"ok":{"_rev":"2-y","_id":"b"}} ], "id":"b"}'
    assert.deepEqual(
      reading.take(Buffer.from(text)).map(({ rev }) => rev),
      ['1-x', '2-y'],
    )
  })
})
