/** Starts the whole server as people do: a process tree of its own, on a free port, over a folder of the test's. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { ROOT } from '../tidy/source-tree.ts'

export interface RunningServer {
  readonly process: ChildProcess
  readonly port: number
  /** @param userInfo `name:password` */
  url(userInfo?: string): string
  /** Asks it to stop and waits; the exit code. */
  stop(): Promise<number | null>
  /** Ends the whole tree at once, as a power cut would. */
  kill(): Promise<void>
  /** What it wrote to standard error. */
  log(): string
}

export async function startProcess(
  dataFolder: string,
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const args = [
    join(ROOT, 'dist/main.js'),
    'serve',
    '--port',
    '0',
    '--node-port',
    'off',
    '--data',
    dataFolder,
  ]
  const child = spawn(process.execPath, [...args, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    // A group of its own, so that the tree can be killed as a whole.
    detached: true,
  })
  let output = ''
  let log = ''
  child.stdout?.on('data', chunk => {
    output += chunk
  })
  child.stderr?.on('data', chunk => {
    log = (log + chunk).slice(-200_000)
  })
  const exited = once(child, 'exit') as Promise<[number | null]>
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout?.on('data', () => {
      const [, found] = /answers at http:\/\/\S+:(\d+)\//.exec(output) ?? []
      if (found !== undefined) resolve(Number(found))
    })
    void exited.then(([code]) => reject(new Error(`the server ended with ${code}: ${log}`)))
  })
  return {
    process: child,
    port,
    url: userInfo => `http://${userInfo === undefined ? '' : `${userInfo}@`}127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGTERM')
      return (await exited)[0]
    },
    async kill() {
      process.kill(-(child.pid as number), 'SIGKILL')
      await exited
    },
    log: () => log,
  }
}
