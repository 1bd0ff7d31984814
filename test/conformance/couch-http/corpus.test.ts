/**
 * Replays the recorded CouchDB corpus against a real server with two workers, in both dialects: every area, every step,
 * but for the few that are listed with the reason why we answer otherwise. The corpus beside this checkout is taken where
 * there is one, else the copy in this repository.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startProcess } from '../../support/start-process.ts'
import { ROOT } from '../../tidy/source-tree.ts'

/** Steps where we answer otherwise on purpose: scenario -> steps. */
const KNOWN: Readonly<Record<string, { readonly steps: readonly number[]; readonly why: string }>> =
  {
    'views/multi-shard': {
      steps: [7],
      why: 'the offset of a keyed query adds up what single shards of a cluster happen to hold; here there are none',
    },
  }

const isKnown = (scenario: string, step: number): boolean =>
  KNOWN[scenario]?.steps.includes(step) ?? false

const beside = join(ROOT, '../shared/conformance')
const corpus = existsSync(join(beside, 'replay.mjs'))
  ? beside
  : join(ROOT, 'test/conformance/corpus')

for (const dialect of ['spec', 'couchdb'] as const) {
  describe(`recorded corpus, ${dialect} dialect`, () => {
    it('is answered as recorded', { timeout: 600_000 }, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'gurney-corpus-'))
      // Recorded on a server without a search service; ours has one unless it is switched off.
      writeFileSync(join(folder, 'local.ini'), '[svc]\ntext_search = false\n')
      const server = await startProcess(folder, [
        '--admin',
        'admin:pass',
        '--dialect',
        dialect,
        '--workers',
        '2',
      ])
      try {
        const report = join(folder, 'report.json')
        const flags = ['--jobs', '4', '--quiet', '--json', report]
        if (dialect === 'couchdb') flags.push('--real')
        await run([join(corpus, 'replay.mjs'), server.url('admin:pass'), ...flags])
        assert.deepEqual(failures(report), [])
      } finally {
        await server.stop()
        rmSync(folder, { recursive: true, force: true })
      }
    })
  })
}

function run(args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    child.on('error', reject)
    child.on('exit', () => resolve())
  })
}

interface Report {
  readonly scenarios: readonly {
    readonly area: string
    readonly name: string
    readonly failed: readonly {
      readonly step: number
      readonly request?: string
      readonly diffs: unknown[]
    }[]
  }[]
}

function failures(path: string): string[] {
  const report = JSON.parse(readFileSync(path, 'utf8')) as Report
  assert.ok(report.scenarios.length > 0, 'the corpus was read')
  return report.scenarios.flatMap(({ area, name, failed }) =>
    failed
      .filter(each => !isKnown(`${area}/${name}`, each.step))
      .map(({ step, request = '', diffs }) => {
        return `${area}/${name} step ${step} ${request}: ${JSON.stringify(diffs[0])}`
      }),
  )
}
