// Makes a fresh clone ready: installs what is missing, builds what is stale. A second run finds nothing to do.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** @param needs `server`: what runs it. `all`: what tests and measures it too, which is several times as much. */
export function prepare(needs) {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 12)) {
    fail(`Gurney needs Node 20.12 or later; this is ${process.version}`)
  }
  install(needs)
  build()
}

function install(needs) {
  const stamp = join(root, 'node_modules', '.gurney-lock')
  const lock = hash([join(root, 'package-lock.json')])
  const present = existsSync(stamp) ? readFileSync(stamp, 'utf8') : ''
  // Who has all has what the server needs; npm would take the rest away.
  if (present === `${lock} all` || present === `${lock} ${needs}`) return
  say(needs === 'all' ? 'Installing dependencies and what tests need' : 'Installing dependencies')
  const omitted = needs === 'all' ? [] : ['--omit=dev']
  // Not `npm ci`: it refuses lock files that name no packages for other platforms.
  const quiet = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error']
  run('npm', ['install', ...omitted, ...quiet])
  writeFileSync(stamp, `${lock} ${needs}`)
}

export function build() {
  const stamp = join(root, 'dist', '.gurney-source')
  const sources = [
    ...filesBelow(join(root, 'src')),
    join(root, 'tsconfig.json'),
    join(root, 'tsconfig.build.json'),
  ]
  const wanted = hash(sources)
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  say('Building')
  // Beside first, then in one step: nobody ever starts from half a build.
  const fresh = join(root, `dist.${process.pid}`)
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  run(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', fresh])
  writeFileSync(join(fresh, '.gurney-source'), wanted)
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  renameSync(fresh, join(root, 'dist'))
}

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap(entry => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? filesBelow(path) : [path]
    })
    .sort()
}

function hash(paths) {
  const digest = createHash('sha256')
  for (const path of paths) digest.update(path.slice(root.length)).update(readFileSync(path))
  return digest.digest('hex')
}

export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], ...options })
  if (result.status !== 0) fail(`${command} ${args.join(' ')} failed`, result.status ?? 1)
}

function say(text) {
  process.stderr.write(`${text} …\n`)
}

function fail(text, code = 1) {
  process.stderr.write(`${text}\n`)
  process.exit(code)
}
