import assert from 'node:assert/strict'
import { it } from 'node:test'
import { keepBuffersMapped } from '../../../../src/engine/embedded/keep-buffers-mapped.ts'

it('sets the threshold where the C library has one, and may be called again', async t => {
  const header = process.report.getReport() as { header?: { glibcVersionRuntime?: string } }
  if (header.header?.glibcVersionRuntime === undefined) return t.skip('not glibc')
  assert.equal(keepBuffersMapped(), true)
  assert.equal(keepBuffersMapped(), true)
})
