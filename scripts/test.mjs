// `npm test`: on a fresh clone installs and builds, then format, lint, types and every test.
// `npm test -- unit/base` runs only the test files whose path holds one of the words given.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { prepare, root, run } from './prepare.mjs'

prepare('all')
const words = process.argv.slice(2)
if (words.length === 0) {
  run(process.execPath, [
    join(root, 'node_modules/@biomejs/biome/bin/biome'),
    'check',
    '--error-on-warnings',
    '.',
  ])
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.json'])
}
const files = testFiles(join(root, 'test')).filter(
  file => words.length === 0 || words.some(word => file.includes(word)),
)
const result = spawnSync(
  process.execPath,
  ['--import', 'tsx', '--test', '--test-concurrency=2', '--test-reporter=spec', ...files],
  { cwd: root, stdio: 'inherit' },
)
process.exit(result.status ?? 1)

function testFiles(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap(entry => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return testFiles(path)
      return entry.name.endsWith('.test.ts') ? [relative(root, path)] : []
    })
    .sort()
}
