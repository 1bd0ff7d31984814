/** The application in a server of several workers: installed once, and every worker has the newest settings. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startProcess } from '../support/start-process.ts'

it('workers share the application', { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gurney-application-'))
  const server = await startProcess(folder, ['--admin', 'admin:pass', '--workers', '2'])
  const headers = {
    Authorization: `Basic ${Buffer.from('admin:pass').toString('base64')}`,
    'Content-Type': 'application/json',
    // A connection each, so that both workers are asked.
    Connection: 'close',
  }
  const ask = async (path: string, init: RequestInit = {}): Promise<unknown> =>
    (await fetch(new URL(path, server.url()), { headers, ...init })).json()
  try {
    const { rows } = (await ask('/svc/_all_docs')) as { rows: { value: { rev: string } }[] }
    assert.equal(rows.length, 8)
    assert.ok(rows.every(({ value }) => value.rev.startsWith('1-')))
    const everywhere = async (locale: string): Promise<boolean> => {
      const seen = await Promise.all(Array.from({ length: 12 }, () => ask('/api/v1/settings')))
      return seen.every(settings => (settings as { locale: string }).locale === locale)
    }
    for (const locale of ['fr', 'sw', 'ne']) {
      await ask('/api/v1/settings', { method: 'PUT', body: JSON.stringify({ locale }) })
      let isThere = await everywhere(locale)
      for (let attempt = 0; !isThere && attempt < 50; attempt++) {
        await delay(50)
        isThere = await everywhere(locale)
      }
      assert.ok(isThere, `all workers know ${locale}`)
    }
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
