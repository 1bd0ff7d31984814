/**
 * The yardstick: node:http alone, with as many processes as the server it is held against, answering every request with
 * the same bytes. In processes of its own, because a server inside the client's has half of the machine's work to do.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface BareServer {
  readonly port: number
  stop(): void
}

const PROGRAM = fileURLToPath(new URL('bare-server.mjs', import.meta.url))

export async function startBareServer(workerCount: number, body: string): Promise<BareServer> {
  const child = spawn(process.execPath, [PROGRAM, String(workerCount), body], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { port: await portOf(child), stop: () => child.kill('SIGTERM') }
}

const portOf = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    child.stdout?.once('data', text => resolve(Number(text)))
    child.once('exit', code => reject(new Error(`the bare server ended with ${code}`)))
  })
