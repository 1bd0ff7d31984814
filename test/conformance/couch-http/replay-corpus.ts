/**
 * Replays the recorded CouchDB corpus against a running server: every step, but for the few that are listed with the reason
 * why we answer otherwise. The corpus beside this checkout is taken where there is one, else the copy in this repository.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

/** What was not answered as recorded: one line each. */
export async function replayCorpus(
  url: string,
  { dialect, flags = [] }: { dialect: 'spec' | 'couchdb'; flags?: readonly string[] },
): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gurney-replay-'))
  try {
    const report = join(folder, 'report.json')
    const all = ['--jobs', '4', '--quiet', '--json', report, ...flags]
    if (dialect === 'couchdb') all.push('--real')
    await run([join(corpus, 'replay.mjs'), url, ...all])
    return failures(report)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
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
