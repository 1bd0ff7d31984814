/**
 * Starts the built server in processes of their own, over a temporary folder, for benchmarks that want the
 * real thing, and tells what they use.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { largestMemoryBytes, treeCpuMs, treeMemoryBytes } from '../test/support/process-figures.ts'

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

// The build, not the sources: what translates those on the way costs a tenth of the processor.
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url))

export async function runServer(options: {
  readonly workerCount: number
  /** Text of the configuration file. */
  readonly ini?: string
  /** The embedded one unless said otherwise. */
  readonly engine?: string
  readonly nodeName?: string
}): Promise<BenchServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gurney-bench-'))
  writeFileSync(
    join(folder, 'local.ini'),
    `[log]\nlevel = warning\n[svc_httpd_auth]\niterations = 10\n${options.ini ?? ''}`,
  )
  const wanted = String(await freePort())
  const flags = ['--port', wanted, '--node-port', 'off', '--data', folder, '--admin', 'admin:pass']
  const workers = ['--workers', String(options.workerCount)]
  const child = spawn(process.execPath, [MAIN, 'serve', ...flags, ...workers], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      ...(options.engine === undefined ? {} : { GURNEY_ENGINE: options.engine }),
      ...(options.nodeName === undefined ? {} : { GURNEY_NODE_NAME: options.nodeName }),
    },
  })
  const port = await portOf(child)
  return {
    port,
    authorization: `Basic ${Buffer.from('admin:pass').toString('base64')}`,
    memoryBytes: () => largestMemoryBytes(child.pid as number),
    totalMemoryBytes: () => treeMemoryBytes(child.pid as number),
    cpuMs: () => treeCpuMs(child.pid as number),
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export async function freePort(): Promise<number> {
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
