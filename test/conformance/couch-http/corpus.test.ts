/**
 * The recorded CouchDB corpus against a real server with two workers, in both dialects: every area, every step, but for the
 * few that replay-corpus.ts lists. On PostgreSQL, which takes longer, the areas that say most about an engine.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startPostgres } from '../../support/postgres.ts'
import { startProcess } from '../../support/start-process.ts'
import { replayCorpus } from './replay-corpus.ts'

async function check(
  dialect: 'spec' | 'couchdb',
  { flags = [], env = {} }: { flags?: readonly string[]; env?: Readonly<Record<string, string>> },
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gurney-corpus-'))
  // Recorded on a server without a search service; ours has one unless it is switched off.
  writeFileSync(join(folder, 'local.ini'), '[svc]\ntext_search = false\n')
  const own = ['--admin', 'admin:pass', '--dialect', dialect, '--workers', '2']
  const server = await startProcess(folder, own, env)
  try {
    assert.deepEqual(await replayCorpus(server.url('admin:pass'), { dialect, flags }), [])
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

for (const dialect of ['spec', 'couchdb'] as const) {
  describe(`recorded corpus, ${dialect} dialect`, () => {
    it('is answered as recorded', { timeout: 600_000 }, () => check(dialect, {}))
  })
}

/** The whole corpus with GURNEY_WHOLE_CORPUS=1. */
const TELLING = 'bulk,changes,documents,attachments,revisions,views,mango-find'

describe('recorded corpus on PostgreSQL', () => {
  it('is answered as recorded', { timeout: 600_000 }, async () => {
    const postgres = await startPostgres()
    try {
      const isWhole = process.env.GURNEY_WHOLE_CORPUS === '1'
      const flags = isWhole ? [] : ['--area', TELLING]
      await check('spec', { flags, env: { GURNEY_ENGINE: postgres.address() } })
    } finally {
      await postgres.stop()
    }
  })
})
