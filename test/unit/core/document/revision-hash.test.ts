import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { scanDocument } from '../../../../src/core/document/incoming-document.ts'
import { parseRevision, printRevision } from '../../../../src/core/document/revision.ts'
import { newRevisionId } from '../../../../src/core/document/revision-hash.ts'

/** Document text, parent, the revision a CouchDB gave it. */
const VECTORS: [string, string | undefined, string][] = [
  ['{}', undefined, '1-967a00dff5e02add41819138abb3284d'],
  ['{"a":1}', undefined, '1-23202479633c2b380f79507a776743d5'],
  ['{"a":1.0}', undefined, '1-8a159b695bf2bd957f1a435bfd6e1739'],
  ['{"a":[1,2,3]}', undefined, '1-308048961a84beb0c9e99e07facf0f5f'],
  ['{"a":[1,2,300]}', undefined, '1-a77dc9a33f4f57596bdf0a2121a0cb5e'],
  ['{"a":[]}', undefined, '1-d49a64a623a0fcc15fb2a4e9edf20834'],
  ['{"a":{}}', undefined, '1-3a998deb00874a1aa37c51ab7d1665df'],
  ['{"a":null,"b":true,"c":false}', undefined, '1-9ee24fc5101a7ad908e495035b5c47dc'],
  [
    '{"n":[-1,256,2147483648,-2147483649,12345678901234567890123]}',
    undefined,
    '1-01c116e4b85063207dc5000ee98fe4c7',
  ],
  ['{"f":[1e3,-0.0,0.1]}', undefined, '1-f6926353ad3159be7bc4e5d8baa2e400'],
  ['{"x":"héllo 😀"}', undefined, '1-7c8ba598df2b79570f31c0d43882040d'],
  ['{"x":"h\\u00e9llo \\ud83d\\ude00"}', undefined, '1-7c8ba598df2b79570f31c0d43882040d'],
  ['{"b":1,"a":2}', undefined, '1-afc27c384a7b497e8b717857527a0dc7'],
  ['{"b":7,"a":2, "a" : 2,"b":1,"a":2}', undefined, '1-afc27c384a7b497e8b717857527a0dc7'],
  ['{"_deleted":true}', undefined, '1-de715bf126efc93d225d9e3f8e8eb81a'],
  ['{"a":2}', '1-23202479633c2b380f79507a776743d5', '2-71173597778497e0a6aa176963f222db'],
  ['{"_deleted":true}', '1-967a00dff5e02add41819138abb3284d', '2-eec205a9d413992850a6e32678485900'],
  ['{"re":true}', '2-eec205a9d413992850a6e32678485900', '3-894337df3a33c015c53e0575ae2e97df'],
  ['{"x":2}', '1-abc', '2-149638065237f7a053c392221bef9f93'],
  // seen in a conformance run
  ['{"v":0}', undefined, '1-083d7391ec71ec717a762c87db469932'],
  ['{"v":-1}', undefined, '1-2a047834e63ab6f7fd68f461e615b0c4'],
  ['{"v":255}', undefined, '1-c08f5aac63d1893f5cf43907f46c37c3'],
  ['{"v":2147483647}', undefined, '1-7f9c81c692225397b1ae7df2e398fe71'],
  ['{"v":9007199254740991}', undefined, '1-86565b0c6008bc518b1f9ea8973aa5eb'],
  ['{"v":9007199254740993}', undefined, '1-f94701bd22643915e807e3edfe5ae7f7'],
]

for (const [text, parentText, expected] of VECTORS) {
  test(`${text} after ${parentText ?? 'nothing'}`, () => {
    const { document } = scanDocument(Buffer.from(text))
    const parent = parentText === undefined ? undefined : parseRevision(parentText)
    const { deleted, bodyTerm } = document
    const id = newRevisionId({ deleted, parent, bodyTerm, attachments: [] })
    assert.equal(printRevision({ pos: (parent?.pos ?? 0) + 1, id }), expected)
  })
}

const md5 = (bytes: Uint8Array | string) => createHash('md5').update(bytes).digest()

test('attachments are hashed last one first', () => {
  const { document } = scanDocument(Buffer.from('{"v":1}'))
  const id = newRevisionId({
    deleted: false,
    bodyTerm: document.bodyTerm,
    attachments: [
      { name: 'one.bin', contentType: 'application/octet-stream', md5: md5('hello world') },
      { name: 'two.bin', contentType: 'image/png', md5: md5(Buffer.from([1, 2, 3])) },
    ],
  })
  assert.equal(id.toString('hex'), '0a4a5af79c1cd674d4a43d41029ecf51')
})

test('a compressed attachment counts by the digest of its stored bytes', () => {
  const { document } = scanDocument(Buffer.from('{}'))
  const stored = Buffer.from('BQ12Y6Pl9vOURwmqG1HaIA==', 'base64')
  const id = newRevisionId({
    deleted: false,
    bodyTerm: document.bodyTerm,
    attachments: [{ name: 'f.txt', contentType: 'text/plain', md5: stored }],
  })
  assert.equal(id.toString('hex'), 'b0e806a8195cbb64d4e65bb12309ed9a')
})

test('a document written again after its deletion hashes no more of attachments than their number', () => {
  const { document } = scanDocument(Buffer.from('{}'))
  const id = newRevisionId({
    deleted: false,
    parent: parseRevision('2-2f16cbdc048207da3147aa4e128cf048'),
    bodyTerm: document.bodyTerm,
    attachments: [{ name: 'b', contentType: 'application/octet-stream', md5: Buffer.alloc(16) }],
    recreates: true,
  })
  assert.equal(printRevision({ pos: 3, id }), '3-499044b5b907d00bfb280d7ba91a62d0')
})
