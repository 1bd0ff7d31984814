// `npm run bench -- WORD …`: builds, then runs the benchmarks whose names hold one of the words (all without any), one
// after the other, and keeps what they print under bench/results/. Flags such as --quick go to the benchmarks.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { join } from 'node:path'
import { prepare, root } from './prepare.mjs'

prepare('all')
const flags = process.argv.slice(2).filter(word => word.startsWith('--'))
const words = process.argv.slice(2).filter(word => !word.startsWith('--'))
const results = join(root, 'bench', 'results')
mkdirSync(results, { recursive: true })
const commit = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' })
const machine = `${cpus().length} cores, Node ${process.versions.node}, Linux ${release()}, commit ${commit.stdout.trim()}`
for (const file of readdirSync(join(root, 'bench')).sort()) {
  if (!file.endsWith('.bench.ts')) continue
  if (words.length > 0 && !words.some(word => file.includes(word))) continue
  process.stdout.write(`${file}\n`)
  const ran = spawnSync(process.execPath, ['--import', 'tsx', join('bench', file), ...flags], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.stdout.write(ran.stdout)
  const name = file.replace('.bench.ts', '.txt')
  const head = [machine, flags.join(' ')].filter(Boolean).join(', ')
  if (ran.status === 0) writeFileSync(join(results, name), `${head}\n\n${ran.stdout}`)
}
