import assert from 'node:assert/strict'
import { test } from 'node:test'
import { documentText } from '../../../../src/core/document/document-text.ts'
import { parseRevision } from '../../../../src/core/document/revision.ts'

const hex = 'ab'.repeat(16)
const text = (parts: Parameters<typeof documentText>[0]) => documentText(parts).toString()

test('the order of members', () => {
  const rev = parseRevision(`2-${hex}`)
  const body = Buffer.from('{"a":1,"é":[]}')
  const empty = Buffer.from('{}')
  assert.equal(text({ id: 'x', rev, body }), `{"_id":"x","_rev":"2-${hex}","a":1,"é":[]}`)
  assert.equal(text({ id: 'x', rev, body: empty }), `{"_id":"x","_rev":"2-${hex}"}`)
  assert.equal(
    text({ id: 'é"\n', rev, body: empty, deleted: true }),
    `{"_id":"é\\"\\n","_rev":"2-${hex}","_deleted":true}`,
  )
  const trailing = ['"_conflicts":["1-é"]', '"_local_seq":3']
  assert.equal(
    text({ id: 'x', rev, body, deleted: true, trailing }),
    `{"_id":"x","_rev":"2-${hex}","a":1,"é":[],"_deleted":true,${trailing.join(',')}}`,
  )
  assert.equal(text({ id: 'x', body, trailing: [] }), '{"_id":"x","a":1,"é":[]}')
  assert.equal(
    text({ id: 'x', rev: parseRevision('1-"q'), body: empty }),
    '{"_id":"x","_rev":"1-\\"q"}',
  )
})
