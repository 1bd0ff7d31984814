/** `gurney builds FOLDER`: builds as files, offered like any builds server offers them. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { isFailure } from '../../../src/base/errors.ts'
import { type BuildsServer, startBuilds } from '../../../src/processes/builds-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'gurney-builds-test-'))
const designs = JSON.stringify({ docs: [{ _id: '_design/medic', views: {} }] })
const data = Buffer.from(designs).toString('base64')

let server: BuildsServer
before(async () => {
  mkdirSync(join(folder, '4.20.0', 'ddocs'), { recursive: true })
  writeFileSync(join(folder, '4.20.0', 'ddocs', 'medic.json'), designs)
  mkdirSync(join(folder, 'my-branch', 'ddocs'), { recursive: true })
  writeFileSync(join(folder, 'my-branch', 'build.json'), '{"build_info":{"time":"2026"}}')
  const attachment = { content_type: 'application/json', data }
  const saved = {
    _id: 'medic:medic:4.21.0-beta.2',
    _rev: '3-abc',
    build_info: { namespace: 'medic', application: 'medic', version: '4.21.0-beta.2' },
    _attachments: { 'ddocs/medic.json': attachment },
  }
  writeFileSync(join(folder, '4.21.0-beta.2.json'), JSON.stringify(saved))
  writeFileSync(join(folder, 'notes.txt'), 'not a build')
  server = await startBuilds({ folder, port: 0, host: '127.0.0.1' })
})
after(async () => {
  await server.close()
  rmSync(folder, { recursive: true })
})

const get = async (path: string): Promise<Record<string, unknown>> => {
  const response = await fetch(`${server.url}${path}`, { headers: { Accept: 'application/json' } })
  assert.equal(response.status, 200)
  return (await response.json()) as Record<string, unknown>
}

describe('a builds server over a folder', () => {
  it('has every build of it', async () => {
    assert.equal(server.buildCount, 3)
    const build = await get('/svc%3Asvc%3A4.20.0?attachments=true')
    assert.deepEqual(build.build_info, { namespace: 'svc', application: 'svc', version: '4.20.0' })
    const { 'ddocs/medic.json': file } = build._attachments as Record<string, { data: string }>
    assert.equal(file?.data, data)
    const saved = await get('/medic%3Amedic%3A4.21.0-beta.2')
    assert.equal((saved.build_info as { version: string }).version, '4.21.0-beta.2')
  })

  it('lists releases, betas and branches', async () => {
    const { rows } = (await get('/_design/builds/_view/releases')) as {
      rows: { id: string; key: unknown[] }[]
    }
    assert.deepEqual(
      rows.map(({ key }) => key),
      [
        ['beta', 'medic', 'medic', 4, 21, 0, 2],
        ['branch', 'svc', 'svc', '2026', 'my-branch'],
        ['release', 'svc', 'svc', 4, 20, 0],
      ],
    )
  })

  it('is read only', async () => {
    const response = await fetch(`${server.url}/new`, { method: 'PUT', body: '{}' })
    assert.ok(response.status === 401 || response.status === 403, String(response.status))
  })

  it('tells what it cannot read', async () => {
    const start = (at: string) => startBuilds({ folder: at, port: 0, host: '127.0.0.1' })
    await assert.rejects(start(join(folder, 'nowhere')), thrown => isFailure(thrown))
    const broken = mkdtempSync(join(tmpdir(), 'gurney-builds-test-'))
    writeFileSync(join(broken, '1.json'), '[]')
    await assert.rejects(
      start(broken),
      thrown => isFailure(thrown) && /1\.json is no JSON object/.test(String(thrown.detail.reason)),
    )
    rmSync(broken, { recursive: true })
  })
})
