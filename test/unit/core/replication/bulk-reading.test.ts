import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BulkReading } from '../../../../src/core/replication/bulk-reading.ts'

const take = (item: string, id = 'a', rev = '1-x') => {
  const reading = new BulkReading([{ id, rev }])
  const documents = reading.take(Buffer.from(item))
  return { documents, rest: reading.rest }
}
const item = (document: string, id = 'a', more = ''): string =>
  `{"id":${JSON.stringify(id)},"docs":[{"ok":${document}${more}}]}`

describe('an item of _bulk_get', () => {
  it('gives the document as it is written', () => {
    const texts = [
      '{"_id":"a","_rev":"1-x"}',
      '{"_id":"a","_rev":"1-x","n":[{"}":"]"}],"t":"\\"}]}\\\\"}',
      '{"_rev":"1-x","_id":"a","n":1}',
      '{"n":{"_id":"b"},"_id":"a","_rev":"1-x"}',
      '{ "_id" : "a" , "_rev" : "1-x" }',
      '{"_id":"a","_rev":"1-x","_attachments":{}}',
      '{"_id":"a","_rev":"1-x","n":{"_attachments":{"f":{}}}}',
      '{"_id":"a","_rev":"1-x","n":"\\"_attachments\\""}',
    ]
    for (const text of texts) {
      const { documents, rest } = take(item(text))
      assert.deepEqual(rest, [])
      assert.equal(documents.length, 1)
      const { id, rev, hasAttachments } = documents[0] as (typeof documents)[0]
      assert.equal(documents[0]?.text.toString(), text)
      assert.deepEqual([id, rev, hasAttachments], ['a', '1-x', false], text)
    }
  })

  it('says when there are attachments, wherever they stand', () => {
    for (const text of [
      '{"_id":"a","_rev":"1-x","_attachments":{"f":{"stub":true}}}',
      '{"_id":"a","_rev":"1-x","n":{},"_attachments":{"f":{"stub":true}},"z":1}',
      '{"_attachments":{"f":{"stub":true}},"_id":"a","_rev":"1-x"}',
    ]) {
      assert.equal(take(item(text)).documents[0]?.hasAttachments, true, text)
    }
  })

  it('may have more in it than one document', () => {
    const text = '{"_id":"a","_rev":"1-x"}'
    const beside = take(item(text, 'a', ',"note":{"n":1}')).documents
    assert.deepEqual(
      beside.map(each => each.text.toString()),
      [text],
    )
    const two = take(item(text, 'a', '},{"ok":{"_id":"a","_rev":"1-y"}')).documents
    assert.deepEqual(
      two.map(({ rev }) => rev),
      ['1-x', '1-y'],
    )
  })

  it('may have any id', () => {
    for (const id of ['é 😀', '"\\', '__proto__', '']) {
      const text = JSON.stringify({ _id: id, _rev: '1-x', n: 1 })
      const { documents } = take(item(text, id), id)
      assert.equal(documents[0]?.id, id)
      assert.equal(documents[0]?.text.toString(), text)
    }
  })

  it('is refused when it is of another document, or says no revision', () => {
    const wrong = ['{"_id":"b","_rev":"1-x"}', '{"_id":"ab","_rev":"1-x"}', '{"_id":"a"}', '{}']
    for (const text of wrong) {
      assert.throws(() => take(item(text)), { code: 'replication_failed' }, text)
    }
  })

  it('is left aside when nobody asked for it', () => {
    const { documents, rest } = take(item('{"_id":"b","_rev":"1-x"}', 'b'))
    assert.deepEqual([documents, rest], [[], [{ id: 'a', rev: '1-x' }]])
  })
})
