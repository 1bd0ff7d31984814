import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FailureCode, isFailure } from '../../../../src/base/errors.ts'
import { validateDocumentId } from '../../../../src/core/document/document-id.ts'
import {
  fromParts,
  type IncomingDocument,
  scanBulkDocs,
  scanDocument,
} from '../../../../src/core/document/incoming-document.ts'
import { parseRevision, printRevision } from '../../../../src/core/document/revision.ts'

const scan = (text: string): IncomingDocument => scanDocument(Buffer.from(text)).document

function fails(run: () => unknown, code: FailureCode, reason?: string): void {
  assert.throws(run, thrown => {
    assert.ok(isFailure(thrown), String(thrown))
    assert.equal(thrown.code, code)
    if (reason !== undefined) assert.equal(thrown.detail.reason, reason)
    return true
  })
}

const BODIES: [string, string][] = [
  ['{}', '{}'],
  [' { } ', '{}'],
  ['{"_id":"x"}', '{}'],
  ['{"a":1}', '{"a":1}'],
  ['{"_id":"x","a":1}', '{"a":1}'],
  ['{"a":1,"_id":"x"}', '{"a":1}'],
  ['{"a":1,"_id":"x","b":2}', '{"a":1,"b":2}'],
  [
    '{"_id":"x","_rev":"1-a","a":1,"_deleted":false,"_conflicts":[],"b":{"_id":1}}',
    '{"a":1,"b":{"_id":1}}',
  ],
  [' {\n "_id" : "x" ,\n "a" : 1 ,\n "_rev" : "1-a" ,\n "b" : [ 1 , 2 ]\n}\n', '{"a":1,"b":[1,2]}'],
  [' {\n "a" : 1 ,\n "b" : 2 , "_rev":"1-a" }', '{"a":1,"b":2}'],
  ['{ "a":1, "_rev":"1-a"}', '{"a":1}'],
  ['{"\\u005fid":"x","\\u0061":1}', '{"a":1}'],
  ['{"a":1,"\\u0062":1,"c":1}', '{"a":1,"b":1,"c":1}'],
  [
    '{"_replication_state":"x","a":1,"_access":["y"]}',
    '{"_replication_state":"x","a":1,"_access":["y"]}',
  ],
  ['{"a":1,"_replication_id":"x"}', '{"a":1,"_replication_id":"x"}'],
  ['{"a":1,"b":2,"a":3}', '{"b":2,"a":3}'],
  ['{"a":{"x":1,"y":2,"x":3}}', '{"a":{"y":2,"x":3}}'],
  ['{"_id":"a","_id":"x","b":1}', '{"b":1}'],
  ['{"_access":1,"_access":2}', '{"_access":2}'],
  ['{"n":-0,"f":1e3,"s":"\\u00e9\\/"}', '{"n":0,"f":1000.0,"s":"é/"}'],
  ['{"2":1,"1":2}', '{"2":1,"1":2}'],
  ['{"":1}', '{"":1}'],
  ['{"_attachments":{},"z":1}', '{"z":1}'],
]

for (const [text, body] of BODIES) {
  test(`body of ${text}`, () => {
    const document = scan(text)
    assert.equal(document.body.toString(), body)
    assert.deepEqual(document.bodyTerm, scan(body).bodyTerm)
  })
}

test('special members', () => {
  const revisions = `{"start":3,"ids":["${'C'.repeat(32)}","b","a"]}`
  const document = scan(`{"_id":"é","_rev":"3-cc","a":1,"_deleted":true,"_revisions":${revisions}}`)
  assert.equal(document.id, 'é')
  assert.equal(document.deleted, true)
  assert.equal(printRevision(document.rev ?? assert.fail()), `3-${'c'.repeat(32)}`)
  assert.deepEqual(document.revisions, {
    start: 3,
    ids: [Buffer.from('c'.repeat(32), 'hex'), Buffer.from('b'), Buffer.from('a')],
  })
})

test('the last of two ids counts', () => assert.equal(scan('{"_id":"a","x":{},"_id":"b"}').id, 'b'))

test('_rev after _revisions is not even looked at', () => {
  const document = scan('{"_revisions":{"start":1,"ids":["x"]},"_rev":7}')
  assert.equal(printRevision(document.rev ?? assert.fail()), '1-x')
})

test('_revisions without ids are none', () => {
  const document = scan('{"_revisions":{"start":0,"ids":[]},"_rev":"1-a"}')
  assert.equal(document.revisions, undefined)
  assert.equal(printRevision(document.rev ?? assert.fail()), '1-a')
})

const COMPLAINTS: [string, FailureCode, string][] = [
  ['[]', 'request_invalid', 'Document must be a JSON object'],
  ['3', 'request_invalid', 'Document must be a JSON object'],
  ['{"_id":""}', 'document_id_invalid', 'Document id must not be empty'],
  ['{"_id":3}', 'document_id_invalid', 'Document id must be a string'],
  ['{"_id":null}', 'document_id_invalid', 'Document id must be a string'],
  ['{"_id":"_x"}', 'document_id_invalid', 'Only reserved document ids may start with underscore.'],
  ['{"_id":"_design/"}', 'document_id_invalid', 'Illegal document id `_design/`'],
  ['{"_rev":"bogus"}', 'request_invalid', 'Invalid rev format'],
  ['{"_rev":1}', 'request_invalid', 'Invalid rev format'],
  ['{"_rev":"x-1"}', 'request_invalid', 'Invalid rev format'],
  [`{"_rev":"1-${'g'.repeat(32)}"}`, 'request_invalid', 'Invalid rev format'],
  ['{"_deleted":1}', 'document_invalid', 'Bad special document member: _deleted'],
  ['{"_attachments":[]}', 'document_invalid', 'Bad special document member: _attachments'],
  ['{"_revisions":[]}', 'document_invalid', 'Bad special document member: _revisions'],
  ['{"_zz":1}', 'document_invalid', 'Bad special document member: _zz'],
  ['{"_":1}', 'document_invalid', 'Bad special document member: _'],
  ['{"_Id":1}', 'document_invalid', 'Bad special document member: _Id'],
  ['{"_revisions":{}}', 'document_invalid', "_revisions.start isn't an integer."],
  [
    '{"_revisions":{"start":"1","ids":[]}}',
    'document_invalid',
    "_revisions.start isn't an integer.",
  ],
  ['{"_revisions":{"start":1}}', 'document_invalid', "_revisions.ids isn't a array."],
  ['{"_revisions":{"start":1,"ids":[1]}}', 'document_invalid', "RevId isn't a string"],
  [
    `{"_revisions":{"start":1,"ids":["${'x'.repeat(32)}"]}}`,
    'document_invalid',
    "RevId isn't a valid hexadecimal",
  ],
  ['{"_attachments":{"a":{}}}', 'request_invalid', 'Invalid attachment data for a'],
  ['{"_attachments":{"a":{"data":"x"}}}', 'request_invalid', 'Invalid attachment data for a'],
  ['{"_attachments":{"a":{"data":5}}}', 'request_invalid', 'Invalid attachment data for a'],
  ['{"_attachments":{"a":{"data":"*A=="}}}', 'request_invalid', 'Invalid attachment data for a'],
  [
    '{"_attachments":{"_under":{"data":""}}}',
    'request_invalid',
    "Attachment name '_under' starts with prohibited character '_'",
  ],
  // the first member that is wrong
  ['{"_rev":"bogus","_id":3}', 'request_invalid', 'Invalid rev format'],
  ['{"_zz":1,"_id":3,"a":2}', 'document_invalid', 'Bad special document member: _zz'],
]

for (const [text, code, reason] of COMPLAINTS) {
  test(`refuses ${text}`, () => fails(() => scan(text), code, reason))
}

test('bad JSON comes before bad members', () => {
  fails(() => scan('{"_id":3,"a":01}'), 'json_invalid')
  fails(() => scan('{"_zz":{"a":}}'), 'json_invalid')
  fails(() => scan('{"_attachments":{"a":{}},"b"}'), 'json_invalid')
  fails(() => scan('{"a":1,"a":}'), 'json_invalid')
  fails(() => scan('{"a":1}x'), 'json_invalid')
  fails(() => scan('{"a":1}}'), 'json_invalid')
  fails(() => scan('{"_id":"x",}'), 'json_invalid')
  fails(() => scan('{,"a":1}'), 'json_invalid')
  fails(() => scan('{"_id" "x"}'), 'json_invalid')
  fails(() => scan('[1,]'), 'json_invalid')
  fails(() => scan(''), 'json_invalid')
})

test('attachments', () => {
  const { attachments, body } = scan(`{"_attachments":{
    "one": {"content_type":"text/plain","data":"aGVsbG8=","revpos":3,"digest":"x"},
    "two": {"stub":true,"revpos":2,"length":5},
    "three": {"follows":true,"length":5,"encoding":"gzip","encoded_length":9,
              "digest":"md5-BQ12Y6Pl9vOURwmqG1HaIA=="},
    "four": {"data":"aGVs\\nbG8\\u003d","stub":false},
    "five": "not an object"},"a":1}`)
  assert.equal(body.toString(), '{"a":1}')
  assert.deepEqual(attachments, [
    {
      name: 'one',
      contentType: 'text/plain',
      revpos: 3,
      kind: 'inline',
      data: Buffer.from('hello'),
    },
    { name: 'two', revpos: 2, kind: 'stub' },
    {
      name: 'three',
      kind: 'follows',
      encoding: 'gzip',
      length: 9,
      plainLength: 5,
      md5: Buffer.from('BQ12Y6Pl9vOURwmqG1HaIA==', 'base64'),
    },
    { name: 'four', kind: 'inline', data: Buffer.from('hello') },
  ])
})

test('an attachment named twice: the last one', () => {
  const { attachments } = scan(
    '{"_attachments":{"a":{"data":""},"b":{"data":""},"a":{"stub":true}}}',
  )
  assert.deepEqual(
    attachments?.map(({ name, kind }) => [name, kind]),
    [
      ['b', 'inline'],
      ['a', 'stub'],
    ],
  )
})

test('limits', () => {
  const bytes = Buffer.from('{"_id":"abc","a":"12345"}')
  scanDocument(bytes, 0, { bodyBytesMax: 13, idBytesMax: 3 })
  fails(() => scanDocument(bytes, 0, { bodyBytesMax: 12 }), 'document_too_large', 'abc')
  fails(
    () => scanDocument(bytes, 0, { idBytesMax: 2 }),
    'document_id_invalid',
    'Document id is too long',
  )
})

test('a document somewhere in the bytes', () => {
  const { document, end } = scanDocument(Buffer.from('xx {"a":1} '), 2)
  assert.equal(document.body.toString(), '{"a":1}')
  assert.equal(end, 11)
})

test('long strings and bodies outgrow the first buffers', () => {
  for (const text of ['x'.repeat(300_000), 'é'.repeat(300_000), '\\n'.repeat(300_000)]) {
    assert.equal(scan(`{"a":"${text}"}`).body.toString(), `{"a":"${text}"}`)
  }
  const list = `{"a":[${'[],'.repeat(100_000)}1.5]}`
  assert.equal(scan(list).body.toString(), list)
})

test('a bulk request', () => {
  const bulk = scanBulkDocs(
    Buffer.from(
      ' { "docs" : [ {"_id":"a","x":1} , {"b":1,"b":2}, {} ] , "new_edits":false, "w":3.0 } ',
    ),
  )
  assert.deepEqual(
    bulk.documents.map(({ id, body }) => [id, body.toString()]),
    [
      ['a', '{"x":1}'],
      [undefined, '{"b":2}'],
      [undefined, '{}'],
    ],
  )
  assert.equal(bulk.newEdits, false)
  assert.deepEqual([...bulk.other.keys()], ['w'])
  assert.deepEqual(scanBulkDocs(Buffer.from('{"docs":[]}')).documents, [])
  assert.equal(scanBulkDocs(Buffer.from('{"docs":[{}],"docs":[{},{}]}')).documents.length, 2)
})

const BULK_COMPLAINTS: [string, FailureCode, string?][] = [
  ['[]', 'request_invalid', 'Request body must be a JSON object'],
  ['{}', 'request_invalid', 'POST body must include `docs` parameter.'],
  ['{"docs":{}}', 'request_invalid', '`docs` parameter must be an array.'],
  ['{"docs":[3],"new_edits":1}', 'request_invalid', '`new_edits` parameter must be a boolean.'],
  ['{"docs":[3]}', 'request_invalid', 'Document must be a JSON object'],
  ['{"docs":[{"_zz":1},{"_id":3}]}', 'document_invalid', 'Bad special document member: _zz'],
  ['{"docs":[{"a":1,"a":1,"_id":3}]}', 'document_id_invalid', 'Document id must be a string'],
  ['{"docs":[{}],"x":01}', 'json_invalid'],
  ['{"docs":[{"_id":3},{]}', 'json_invalid'],
  ['{"docs":[{}],}', 'json_invalid'],
  ['{"docs":[{},]}', 'json_invalid'],
  ['{"docs":[]} x', 'json_invalid'],
]

for (const [text, code, reason] of BULK_COMPLAINTS) {
  test(`bulk refuses ${text}`, () => fails(() => scanBulkDocs(Buffer.from(text)), code, reason))
}

test('documents made here', () => {
  const rev = parseRevision('1-a')
  const made = fromParts({ id: 'x', rev, body: { a: [1, 2.5] } })
  assert.equal(made.body.toString(), '{"a":[1,2.5]}')
  assert.deepEqual(made.bodyTerm, scan('{"a":[1,2.5]}').bodyTerm)
  assert.deepEqual([made.id, made.rev, made.deleted], ['x', rev, false])
  assert.equal(fromParts({ body: Buffer.from('{}'), deleted: true }).deleted, true)
  fails(() => fromParts({ body: { _foo: 1 } }), 'document_invalid')
})

test('document ids', () => {
  for (const id of ['a', '_design/x', '_local/x', '\u0000', ' ', '😀']) validateDocumentId(id)
  fails(
    () => validateDocumentId('\ud800'),
    'document_id_invalid',
    'Document id must be valid UTF-8',
  )
  fails(() => validateDocumentId('_local/'), 'document_id_invalid', 'Illegal document id `_local/`')
  fails(() => validateDocumentId(undefined), 'document_id_invalid', 'Document id must be a string')
})

test('revisions as text', () => {
  assert.equal(printRevision(parseRevision(`10-${'AB'.repeat(16)}`)), `10-${'ab'.repeat(16)}`)
  assert.equal(printRevision(parseRevision('1-x-y')), '1-x-y')
  for (const bad of [
    '',
    '-',
    '1',
    'a-b',
    '-1-a',
    ' 1-a',
    '1.0-a',
    '99999999999999999-a',
    5,
    null,
  ]) {
    fails(() => parseRevision(bad), 'request_invalid', 'Invalid rev format')
  }
})
