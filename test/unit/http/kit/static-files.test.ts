import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import { inject } from '../../../../src/http/kit/inject.ts'
import { StaticFiles } from '../../../../src/http/kit/static-files.ts'
import { tinyServer } from './tiny-api.ts'

describe('StaticFiles', () => {
  let folder = ''
  const nobody = { header: () => undefined }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gurney-static-'))
    await mkdir(join(folder, 'site', 'js'), { recursive: true })
    await writeFile(join(folder, 'secret'), 'secret')
    await writeFile(join(folder, 'site', 'index.html'), '<p>é</p>')
    await writeFile(join(folder, 'site', 'empty.txt'), '')
    await writeFile(join(folder, 'site', '.hidden'), 'hidden')
    await writeFile(join(folder, 'site', 'js', 'a b.js'), 'x'.repeat(200_000))
    await symlink(join(folder, 'secret'), join(folder, 'site', 'link'))
  })

  after(() => rm(folder, { recursive: true }))

  const serve = (files: StaticFiles) =>
    tinyServer({
      routes: {
        '/_utils': request => files.serve([], request),
        '/_utils/{rest...}': (request, params) => files.serve(params.rest, request),
      },
    }).server

  it('serves files with type, length, ETag and the headers it was given', async () => {
    const headers = ['Cache-Control', 'private, must-revalidate']
    const server = serve(new StaticFiles(join(folder, 'site'), { headers }))
    const home = await inject(server, { url: '/_utils/' })
    assert.equal(home.text, '<p>é</p>')
    assert.equal(home.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(home.headers['cache-control'], 'private, must-revalidate')
    const script = await inject(server, { url: '/_utils/js/a%20b.js' })
    assert.equal(script.bytes.length, 200_000)
    assert.equal(script.headers['content-length'], '200000')
    const etag = String(script.headers.etag)
    const again = await inject(server, {
      url: '/_utils/js/a%20b.js',
      headers: { 'If-None-Match': etag },
    })
    assert.equal(again.status, 304)
    const head = await inject(server, { method: 'HEAD', url: '/_utils/js/a%20b.js' })
    assert.equal(head.headers['content-length'], '200000')
    assert.equal((await inject(server, { url: '/_utils/empty.txt' })).status, 200)
  })

  it('gives nothing from outside, hidden, or not a file', async () => {
    const files = new StaticFiles(join(folder, 'site'))
    const bad = [
      ['..', 'secret'],
      ['js', '..', '..', 'secret'],
      ['../secret'],
      ['..\\secret'],
      ['link'],
      ['.hidden'],
      ['js'],
      ['nothing'],
      ['index.html', 'x'],
      ['a\0b'],
      ['x'.repeat(300)],
    ]
    for (const segments of bad) {
      await assert.rejects(
        files.serve(segments, nobody),
        thrown => isFailure(thrown, 'route_missing'),
        segments.join('/'),
      )
    }
    const server = serve(files)
    assert.equal((await inject(server, { url: '/_utils/..%2Fsecret' })).status, 404)
    assert.equal((await inject(server, { url: '/_utils/%2e%2e/secret' })).status, 404)
  })
})
