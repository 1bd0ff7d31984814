/**
 * What does it cost to know who asks? Reads of a small document as nobody, with Basic (a password that was checked
 * before) and with a session cookie; then reads of one user while somebody else sends 10,000 wrong logins. Turns of
 * each kind alternate, and what counts are ratios of medians: the machine may be busy with other things. The client
 * takes its share of the same machine; processor time of the server is told beside.
 *
 *   node --import tsx bench/auth.bench.ts [--quick]
 */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { loadavg } from 'node:os'
import { type LoadResult, requestBytes, runLoad } from './load.ts'
import { type BenchServer, runServer } from './run-server.ts'

const quick = process.argv.includes('--quick')
const TURNS = quick ? 15 : 41
const TURN_MS = quick ? 300 : 500
const CONNECTIONS = 16
const WRONG_LOGINS = 10_000
const WRONG_PER_SECOND = 500
const ITERATIONS = 600_000

const BASIC = `Basic ${Buffer.from('bob:pw-bob').toString('base64')}`

async function main(): Promise<void> {
  const server = await runServer({
    workerCount: 2,
    ini: `iterations = ${ITERATIONS}\n[chttpd]\ntrusted_proxies = 127.0.0.1\n`,
  })
  try {
    await prepare(server)
    await measureMechanisms(server)
    await measureFlood(server)
  } finally {
    await server.stop()
  }
}

async function prepare(server: BenchServer): Promise<void> {
  const admin = { Authorization: server.authorization }
  for (const path of ['/_users', '/bench']) await ask(server, 'PUT', path, admin)
  for (const name of ['bob', 'ann']) {
    const body = { name, password: `pw-${name}`, roles: [], type: 'user' }
    await ask(server, 'PUT', `/_users/org.couchdb.user:${name}`, admin, body)
  }
  await ask(server, 'PUT', '/bench/one', admin, { text: 'x'.repeat(430) })
  // Every worker has seen the password once.
  for (let n = 0; n < 20; n++) await ask(server, 'GET', '/bench/one', { Authorization: BASIC })
}

interface Turn {
  readonly perSecond: number
  readonly p99Us: number
  readonly cpuUs: number
}

async function turn(server: BenchServer, headers: Readonly<Record<string, string>>): Promise<Turn> {
  const cpuMs = server.cpuMs()
  const result: LoadResult = await runLoad({
    port: server.port,
    connectionCount: CONNECTIONS,
    durationMs: TURN_MS,
    request: requestBytes('GET', '/bench/one', headers),
  })
  const [status] = Object.keys(result.statuses)
  if (status !== '200' || Object.keys(result.statuses).length > 1) {
    throw new Error(`reads were answered with ${JSON.stringify(result.statuses)}`)
  }
  const cpuUs = ((server.cpuMs() - cpuMs) * 1000) / result.requestCount
  return { perSecond: result.perSecond, p99Us: result.latencyUs.p99, cpuUs }
}

async function measureMechanisms(server: BenchServer): Promise<void> {
  const session = await ask(server, 'POST', '/_session', {}, { name: 'bob', password: 'pw-bob' })
  const [cookie = ''] = session.headers['set-cookie'] ?? []
  const kinds = {
    nobody: {},
    Basic: { Authorization: BASIC },
    cookie: { Cookie: cookie.split(';')[0] as string },
  }
  const turns: Record<string, Turn[]> = { nobody: [], Basic: [], cookie: [] }
  // The first turns warm the server up.
  for (const headers of Object.values(kinds))
    for (let n = 0; n < 5; n++) await turn(server, headers)
  for (let round = 0; round < TURNS; round++) {
    for (const [kind, headers] of Object.entries(kinds)) {
      turns[kind]?.push(await turn(server, headers))
    }
  }
  const base = turns.nobody as Turn[]
  for (const [kind, own] of Object.entries(turns)) print(`GET as ${kind}`, own, base)
}

/** Quiet and loud turns alternate until all wrong logins are sent. */
async function measureFlood(server: BenchServer): Promise<void> {
  const quiet: Turn[] = []
  const loud: Turn[] = []
  const flood = new Flood(server)
  const headers = { Authorization: BASIC }
  while (flood.sentCount < WRONG_LOGINS) {
    quiet.push(await turn(server, headers))
    const stop = flood.begin()
    loud.push(await turn(server, headers))
    stop()
  }
  console.log(`wrong logins: ${flood.sentCount}, answered ${JSON.stringify(flood.statuses)}`)
  print('GET while all is quiet', quiet, quiet)
  print('GET during wrong logins', loud, quiet)
  for (const name of ['ann', 'bob']) {
    const startedMs = performance.now()
    const body = { name, password: `pw-${name}` }
    const { statusCode } = await ask(server, 'POST', '/_session', {}, body)
    const tookMs = Math.round(performance.now() - startedMs)
    console.log(`${name} logs in from elsewhere: ${statusCode} in ${tookMs} ms`)
  }
  flood.end()
}

/**
 * Wrong logins at a steady pace from one other address: half for one name, half for names that nobody has. Over bare
 * sockets, because the client shares the machine with those it measures.
 */
class Flood {
  readonly #server: BenchServer
  readonly #idle: Socket[] = []
  #openCount = 0
  readonly statuses: Record<string, number> = {}
  sentCount = 0

  constructor(server: BenchServer) {
    this.#server = server
  }

  begin(): () => void {
    const timer = setInterval(() => {
      for (let n = 0; n < WRONG_PER_SECOND / 50 && this.sentCount < WRONG_LOGINS; n++) this.#send()
    }, 20)
    return () => clearInterval(timer)
  }

  end(): void {
    for (const socket of this.#idle) socket.destroy()
  }

  #send(): void {
    const socket = this.#idle.pop() ?? this.#open()
    if (socket === undefined) return
    const n = this.sentCount++
    const user = `${n % 2 === 0 ? 'ann' : `nobody${n}`}:wrong${n}`
    socket.write(
      requestBytes('GET', '/bench/one', {
        Authorization: `Basic ${Buffer.from(user).toString('base64')}`,
        'X-Forwarded-For': '192.0.2.66',
      }),
    )
  }

  /** Undefined when all connections wait for answers: those of suspects come late. */
  #open(): Socket | undefined {
    if (this.#openCount >= FLOOD_CONNECTIONS) return undefined
    this.#openCount++
    const socket = connect({ port: this.#server.port, host: '127.0.0.1' })
    socket.on('data', chunk => {
      const status = chunk.toString('latin1', 9, 12)
      this.statuses[status] = (this.statuses[status] ?? 0) + 1
      this.#idle.push(socket)
    })
    socket.on('error', () => {})
    return socket
  }
}

const FLOOD_CONNECTIONS = 200

async function ask(
  server: BenchServer,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<IncomingMessage> {
  const request = httpRequest({
    host: '127.0.0.1',
    port: server.port,
    method,
    path,
    agent: false,
    headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
  })
  request.end(body === undefined ? undefined : JSON.stringify(body))
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  return response
}

function print(label: string, turns: readonly Turn[], base: readonly Turn[]): void {
  const of = (some: readonly Turn[], pick: (turn: Turn) => number): number => {
    const sorted = some.map(pick).sort((a, b) => a - b)
    return sorted[Math.floor(sorted.length / 2)] as number
  }
  const perSecond = of(turns, each => each.perSecond)
  // Turns that stood side by side are compared, so that what else the machine did counts for both.
  const ratios = turns.map((each, at) => each.perSecond / (base[at] as Turn).perSecond)
  const ratio = of(turns, each => ratios[turns.indexOf(each)] as number)
  // The least disturbed turns, for a machine that is busy with other things.
  const least = (some: readonly Turn[]) => Math.min(...some.map(each => each.cpuUs))
  const most = (some: readonly Turn[]) => Math.max(...some.map(each => each.perSecond))
  console.log(
    `${label.padEnd(26)} ${perSecond.toFixed(0).padStart(7)}/s, ratio ${ratio.toFixed(3)}` +
      ` (best turns ${(most(turns) / most(base)).toFixed(3)}), p99 ${of(turns, each => each.p99Us)} us,` +
      ` ${least(turns).toFixed(1)} us CPU each (ratio ${(least(turns) / least(base)).toFixed(3)}),` +
      ` load ${loadavg()[0]?.toFixed(1)}`,
  )
}

await main()
