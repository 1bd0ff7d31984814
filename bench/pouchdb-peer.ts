/**
 * The peer to measure beside: `pouchdb-server` from npm, installed on first use into a temporary folder of its own and
 * kept there, so that it is no dependency of ours. It runs as it comes: one process, LevelDB, nobody has to log in.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { largestMemoryBytes, treeCpuMs, treeMemoryBytes } from '../test/support/process-figures.ts'
import { type BenchServer, freePort } from './run-server.ts'

const PACKAGE = 'pouchdb-server@4.2.0'
const START_TRIES = 100

function install(): string {
  const home = join(tmpdir(), 'gurney-bench-peer')
  const program = join(home, 'node_modules', 'pouchdb-server', 'bin', 'pouchdb-server')
  if (existsSync(program)) return program
  console.log(`installing ${PACKAGE} …`)
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'package.json'), '{"private":true}')
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--silent']
  execFileSync('npm', ['install', PACKAGE, ...flags], { cwd: home, stdio: 'inherit' })
  return program
}

export async function startPouchdbServer(): Promise<BenchServer> {
  const program = install()
  const folder = mkdtempSync(join(tmpdir(), 'gurney-bench-peer-data-'))
  const port = await freePort()
  const child = spawn(process.execPath, [program, '--port', String(port), '--dir', folder], {
    cwd: folder,
    stdio: 'ignore',
  })
  const pid = child.pid as number
  await answering(port)
  return {
    port,
    authorization: '',
    memoryBytes: () => largestMemoryBytes(pid),
    totalMemoryBytes: () => treeMemoryBytes(pid),
    cpuMs: () => treeCpuMs(pid),
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function answering(port: number): Promise<void> {
  for (let tries = 0; tries < START_TRIES; tries++) {
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)
    if (answer?.ok) return
    await delay(200)
  }
  throw new Error('pouchdb-server does not answer')
}
