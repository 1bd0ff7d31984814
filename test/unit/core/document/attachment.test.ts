import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { type FailureCode, isFailure } from '../../../../src/base/errors.ts'
import {
  decodeAttachments,
  encodeAttachments,
  planAttachments,
  printDigest,
  type StoredAttachment,
  withAttachment,
  withoutAttachment,
} from '../../../../src/core/document/attachment.ts'
import {
  compressibleTypes,
  DEFAULT_COMPRESSIBLE_TYPES,
  GzipCompressor,
  gzip,
} from '../../../../src/core/document/attachment-compression.ts'
import { validateAttachmentName } from '../../../../src/core/document/attachment-name.ts'
import type { IncomingAttachment } from '../../../../src/core/document/incoming-attachment.ts'

const stored = (name: string, revpos = 1): StoredAttachment => ({
  name,
  contentType: 'text/plain; charset=utf-8',
  revpos,
  md5: createHash('md5').update(name).digest(),
  length: 1234,
  encodedLength: 300,
  encoding: 'gzip',
  contentId: Buffer.from(`id of ${name}`),
})

const plain = (name: string): StoredAttachment => ({
  ...stored(name),
  encoding: 'identity',
  encodedLength: 1234,
})

function fails(run: () => unknown, code: FailureCode, reason: string): void {
  assert.throws(run, thrown => isFailure(thrown, code) && thrown.detail.reason === reason)
}

test('bytes', () => {
  const list = [stored('a/b é'), plain('b'), { ...plain('empty'), length: 0, encodedLength: 0 }]
  assert.deepEqual(decodeAttachments(encodeAttachments(list)), list)
  assert.equal(encodeAttachments([]).length, 0)
  assert.deepEqual(decodeAttachments(Buffer.alloc(0)), [])
  const bytes = encodeAttachments(list)
  assert.throws(
    () => decodeAttachments(bytes.subarray(0, -1)),
    thrown => isFailure(thrown, 'storage_corrupt'),
  )
})

const plan = (incoming: IncomingAttachment[], replicated = false) =>
  planAttachments({
    documentId: 'doc',
    incoming,
    parent: [stored('a', 2), stored('b', 1)],
    revpos: 5,
    replicated,
  })

test('the new list has the order of the request', () => {
  const data = Buffer.from('x')
  const planned = plan([
    { kind: 'inline', name: 'n', data, revpos: 3 },
    { kind: 'stub', name: 'b' },
    { kind: 'stub', name: 'a', revpos: 2 },
  ])
  assert.deepEqual(planned, [
    {
      kind: 'new',
      name: 'n',
      contentType: 'application/octet-stream',
      revpos: 5,
      incoming: { kind: 'inline', name: 'n', data, revpos: 3 },
    },
    { kind: 'kept', stored: stored('b', 1) },
    { kind: 'kept', stored: stored('a', 2) },
  ])
})

test('a replicated edit says the revpos of its contents', () => {
  const data = Buffer.from('x')
  const [said, not] = plan(
    [
      { kind: 'inline', name: 'n', data, revpos: 3 },
      { kind: 'inline', name: 'm', data },
    ],
    true,
  )
  assert.deepEqual([said?.kind === 'new' && said.revpos, not?.kind === 'new' && not.revpos], [3, 5])
})

test('stubs must name what the parent has', () => {
  const text = (name: string) => `Invalid attachment stub in doc for ${name}`
  fails(() => plan([{ kind: 'stub', name: 'q' }]), 'attachment_stub_missing', text('q'))
  fails(() => plan([{ kind: 'stub', name: 'a', revpos: 1 }]), 'attachment_stub_missing', text('a'))
  const twice: IncomingAttachment[] = [
    { kind: 'stub', name: 'a' },
    { kind: 'stub', name: 'a' },
  ]
  fails(() => plan(twice), 'request_invalid', 'Duplicate attachments')
})

test('one attachment written or removed on its own', () => {
  const list = [plain('a'), plain('b'), plain('c')]
  const names = (of: readonly { name: string }[]) => of.map(({ name }) => name)
  assert.deepEqual(names(withAttachment(list, stored('b'))), ['b', 'a', 'c'])
  assert.equal(withAttachment(list, stored('b'))[0]?.encoding, 'gzip')
  assert.deepEqual(names(withAttachment(list, stored('new'))), ['new', 'a', 'b', 'c'])
  assert.deepEqual(names(withoutAttachment(list, 'b')), ['a', 'c'])
  fails(() => withoutAttachment(list, 'q'), 'attachment_missing', 'Document is missing attachment')
})

test('names', () => {
  validateAttachmentName('a/b_c d')
  fails(
    () => validateAttachmentName('_x'),
    'request_invalid',
    "Attachment name '_x' starts with prohibited character '_'",
  )
  fails(
    () => validateAttachmentName('\udfff'),
    'request_invalid',
    'Attachment name is not UTF-8 encoded',
  )
})

test('compressible types', () => {
  const isCompressible = compressibleTypes(DEFAULT_COMPRESSIBLE_TYPES)
  for (const type of [
    'text/plain',
    'TEXT/HTML; charset=utf-8',
    'application/json',
    ' text/x ;a=b',
  ]) {
    assert.equal(isCompressible(type), true, type)
  }
  for (const type of [
    'image/png',
    'application/jsonx',
    'xtext/plain',
    '',
    'application/xhtml+xml',
  ]) {
    assert.equal(isCompressible(type), false, type)
  }
  assert.equal(compressibleTypes('')('text/plain'), false)
  assert.equal(compressibleTypes('image/svg+xml')('image/svg+xml'), true)
})

const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest()

test('compressed bytes are those of stock zlib', () => {
  const bytes = gzip(Buffer.from('x'))
  assert.equal(bytes.subarray(0, 10).toString('hex'), '1f8b0800000000000003')
  assert.equal(printDigest({ md5: md5(bytes) }), 'md5-BQ12Y6Pl9vOURwmqG1HaIA==')
})

test('compression does not depend on how the content is cut', () => {
  const words = Array.from({ length: 60_000 }, (_, at) => `${(at * 2654435761) % 977} word`)
  const content = Buffer.from(words.join(' '))
  const whole = gzip(content)
  const compressor = new GzipCompressor()
  const out: Buffer[] = []
  for (let at = 0, size = 1; at < content.length; at += size, size = (size * 7 + 3) % 9000) {
    out.push(...compressor.push(content.subarray(at, at + size)))
  }
  out.push(...compressor.finish())
  assert.deepEqual(Buffer.concat(out), whole)
  assert.deepEqual(gunzipSync(whole), content)
  assert.deepEqual(gunzipSync(gzip(Buffer.alloc(0))), Buffer.alloc(0))
})
