/**
 * Starts the server from its sources in processes of their own, over a temporary folder, for benchmarks that want the
 * real thing. Tells what memory its processes take: anonymous memory only, since pages of the data files that happen to
 * be mapped belong to the operating system, which takes them back when it likes.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface BenchServer {
  readonly port: number
  /** `Authorization` of the admin. */
  readonly authorization: string
  /** Bytes of anonymous memory of the largest process of the tree. */
  memoryBytes(): number
  /** The same of all processes of the tree together. */
  totalMemoryBytes(): number
  /** Milliseconds of processor time that the tree has used. */
  cpuMs(): number
  stop(): Promise<void>
}

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))

export async function runServer(options: {
  readonly workerCount: number
  /** Text of the configuration file. */
  readonly ini?: string
}): Promise<BenchServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gurney-bench-'))
  writeFileSync(
    join(folder, 'local.ini'),
    `[log]\nlevel = warning\n[svc_httpd_auth]\niterations = 10\n${options.ini ?? ''}`,
  )
  const wanted = String(await freePort())
  const flags = ['--port', wanted, '--node-port', 'off', '--data', folder, '--admin', 'admin:pass']
  const workers = ['--workers', String(options.workerCount)]
  const child = spawn(process.execPath, ['--import', 'tsx', MAIN, 'serve', ...flags, ...workers], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = await portOf(child)
  return {
    port,
    authorization: `Basic ${Buffer.from('admin:pass').toString('base64')}`,
    memoryBytes: () => Math.max(...tree(child.pid as number).map(anonymousBytes)),
    totalMemoryBytes: () =>
      tree(child.pid as number).reduce((sum, pid) => sum + anonymousBytes(pid), 0),
    cpuMs: () => tree(child.pid as number).reduce((sum, pid) => sum + cpuMsOf(pid), 0),
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

function portOf(child: ChildProcess): Promise<number> {
  let output = ''
  return new Promise((resolve, reject) => {
    child.on('exit', code => reject(new Error(`the server ended with ${code}`)))
    child.stdout?.on('data', chunk => {
      output += chunk
      const [, found] = /answers at http:\/\/\S+:(\d+)\//.exec(output) ?? []
      if (found !== undefined) resolve(Number(found))
    })
  })
}

/** A process and all below it. */
function tree(pid: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? parentOf(Number(name)) : undefined
    if (parent !== undefined) parents.set(Number(name), parent)
  }
  const found = [pid]
  for (const each of found) {
    for (const [child, parent] of parents) if (parent === each) found.push(child)
  }
  return found
}

const parentOf = (pid: number): number | undefined => statusField(pid, 'PPid')
const anonymousBytes = (pid: number): number => (statusField(pid, 'RssAnon') ?? 0) * 1024

/** The kernel counts in hundredths of a second. */
function cpuMsOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    // ended since it was listed
    return 0
  }
}

function statusField(pid: number, name: string): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const value = new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]
    return value === undefined ? undefined : Number(value)
  } catch {
    // ended since it was listed
    return undefined
  }
}
