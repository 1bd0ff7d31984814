/**
 * What does our HTTP kit cost over bare node:http? `GET /_up` and a small PUT, one process each, the same
 * load driven at both in turns, who goes first changes every round. Prints requests per second and server
 * CPU time per request, each with the ratio of medians. The goal is 70 % of the requests per second; on a
 * busy machine that figure swings, the CPU time much less, so read both and the load average.
 *
 *   node --import tsx bench/http-shell.bench.ts [--quick]
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { silentLog } from '../src/base/log.ts'
import { HttpServer } from '../src/http/kit/http-server.ts'
import { type Api, answererOf } from '../src/http/kit/lifecycle.ts'
import { jsonReply, type Reply } from '../src/http/kit/reply.ts'
import { type HttpRequest, RequestScope } from '../src/http/kit/request.ts'
import { RESPOND_DEFAULTS } from '../src/http/kit/respond.ts'
import { Router, type RouteShape } from '../src/http/kit/router.ts'
import { type LoadOptions, requestBytes, runLoad } from './load.ts'

const UP = '{"status":"ok","seeds":{}}'

function startBare(): void {
  const server = createServer((request, response) => {
    const headers = ['Content-Type', 'application/json', 'Content-Length', String(UP.length + 1)]
    if (request.method === 'GET') {
      response.writeHead(200, headers)
      response.end(`${UP}\n`)
      return
    }
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      Buffer.concat(chunks)
      response.writeHead(201, headers)
      response.end(`${UP}\n`)
    })
  })
  server.listen(0, '127.0.0.1', () => process.send?.(server.address()))
}

type Handler = (request: HttpRequest) => Reply | Promise<Reply>

async function startKit(): Promise<void> {
  const put: Handler = async request => {
    await request.bytes({ limitBytes: 1_000_000 })
    return jsonReply(201, UP)
  }
  const routes: RouteShape<Handler>[] = [
    { path: '/_up', methods: { GET: () => jsonReply(200, UP) } },
    { path: '/{db}/{doc}', methods: { PUT: put } },
  ]
  const api: Api<string, RouteShape<Handler>> = {
    router: new Router(routes),
    identify: request => request.header('authorization') ?? 'nobody',
    admit: () => {},
    handle: (handler, _match, request) => handler(request),
    fallback: () => jsonReply(404, '{}'),
    presentFailure: failure => jsonReply(500, JSON.stringify({ error: failure.code })),
    userName: user => user,
  }
  const answer = answererOf(api)
  const server = new HttpServer({
    scope: new RequestScope(),
    life: { choose: () => answer, respond: RESPOND_DEFAULTS, log: silentLog, onDone: () => {} },
  })
  process.send?.(await server.listen(0, '127.0.0.1'))
}

async function compare(): Promise<void> {
  const isQuick = process.argv.includes('--quick')
  const folder = compile()
  const bare = await startChild(folder, 'bare')
  const kit = await startChild(folder, 'kit')
  const put = requestBytes('PUT', '/db/doc', {}, JSON.stringify({ text: 'x'.repeat(390) }))
  const requests = { 'GET /_up': requestBytes('GET', '/_up'), 'PUT 400 B': put }
  for (const [name, request] of Object.entries(requests)) {
    const load = { connectionCount: 64, durationMs: isQuick ? 500 : 800, request }
    const rounds = await driveRounds([bare, kit], load, isQuick ? 3 : 6)
    printRounds(name, rounds)
  }
  console.log(`load average ${loadavg()[0]?.toFixed(2)}, node ${process.version}`)
  bare.child.kill()
  kit.child.kill()
  rmSync(folder, { recursive: true })
}

interface Round {
  readonly perSecond: number
  readonly cpuUs: number
  readonly p50: number
  readonly p99: number
}

type Child = Awaited<ReturnType<typeof startChild>>
type Rounds = Record<'bare' | 'kit', Round[]>

async function driveRounds(
  children: readonly Child[],
  load: Omit<LoadOptions, 'port'>,
  roundCount: number,
): Promise<Rounds> {
  const rounds: Rounds = { bare: [], kit: [] }
  for (const child of children) await warmUp(child, load)
  for (let round = 0; round < roundCount; round++) {
    for (const child of round % 2 === 0 ? children : children.toReversed()) {
      const before = await cpuUsOf(child)
      const result = await runLoad({ ...load, port: child.port })
      const cpuUs = ((await cpuUsOf(child)) - before) / result.requestCount
      const { p50, p99 } = result.latencyUs
      rounds[child.which].push({ perSecond: result.perSecond, cpuUs, p50, p99 })
    }
  }
  return rounds
}

/** By requests, not by time: on a busy machine a timed warm-up ends before the compiler is done. */
async function warmUp(child: Child, load: Omit<LoadOptions, 'port'>): Promise<void> {
  for (let count = 0; count < WARM_COUNT; ) {
    count += (await runLoad({ ...load, port: child.port })).requestCount
  }
}

const WARM_COUNT = 60_000

function printRounds(name: string, rounds: Rounds): void {
  const of = (which: 'bare' | 'kit', what: keyof Round): number =>
    median(rounds[which].map(round => round[what]))
  for (const which of ['bare', 'kit'] as const) {
    const all = rounds[which].map(round => Math.round(round.perSecond / 100) / 10)
    console.log(
      `${name} ${which}: ${Math.round(of(which, 'perSecond'))}/s, ` +
        `${of(which, 'cpuUs').toFixed(1)} µs CPU a request, ` +
        `p50/p99 ${of(which, 'p50')}/${of(which, 'p99')} µs; rounds (1000/s): ${all.join(' ')}`,
    )
  }
  const rate = (of('kit', 'perSecond') / of('bare', 'perSecond')) * 100
  const cpu = (of('bare', 'cpuUs') / of('kit', 'cpuUs')) * 100
  console.log(`${name}: kit reaches ${rate.toFixed(1)} % by rate, ${cpu.toFixed(1)} % by CPU time`)
}

async function cpuUsOf({ child }: { child: ChildProcess }): Promise<number> {
  const told = once(child, 'message')
  child.send('cpu')
  return Number((await told)[0])
}

/** Servers run what is shipped: tsx keeps the names of functions, and that costs a tenth of all time. */
function compile(): string {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const folder = mkdtempSync(join(tmpdir(), 'gurney-bench-'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const tsc = join(root, 'node_modules', '.bin', 'tsc')
  const files = [join(root, 'bench', 'http-shell.bench.ts')]
  const options = [
    '--outDir',
    folder,
    '--rootDir',
    root,
    '--module',
    'nodenext',
    '--target',
    'es2022',
  ]
  const more = ['--lib', 'es2023', '--types', 'node', '--skipLibCheck', '--ignoreConfig']
  execFileSync(tsc, [...files, ...options, ...more, '--rewriteRelativeImportExtensions'], {
    cwd: root,
    stdio: 'inherit',
  })
  return folder
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

async function startChild(folder: string, which: 'bare' | 'kit') {
  const child = fork(join(folder, 'bench', 'http-shell.bench.js'), [which], { execArgv: [] })
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', message => resolve((message as { port: number }).port))
    child.once('exit', code => reject(new Error(`the ${which} server exited with ${code}`)))
  })
  return { which, child, port }
}

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.(user + system)
})
if (process.argv[2] === 'bare') startBare()
else if (process.argv[2] === 'kit') await startKit()
else await compare()
