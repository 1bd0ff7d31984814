/**
 * How fast do attachments go in and out? Bodies of a type that is not compressed, each different from all others, over
 * several connections at once, and the same read back. One client process drives it and takes a good part of the
 * machine itself. On a busy machine read the processor time, not the speed. The goals are ten times what CouchDB 3.5 did on such a machine: 150 MiB/s in, 270 MiB/s out.
 *
 *   node --import tsx bench/attachments.bench.ts [--quick]
 */
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { loadavg } from 'node:os'
import { type BenchServer, runServer } from './run-server.ts'

const MIB = 1024 * 1024
const quick = process.argv.includes('--quick')
const GOALS = { in: 150, out: 270 }

interface Round {
  readonly sizeBytes: number
  readonly connectionCount: number
  readonly countEach: number
}

const ROUNDS: readonly Round[] = [
  { sizeBytes: 64 * 1024, connectionCount: 8, countEach: quick ? 50 : 200 },
  { sizeBytes: MIB, connectionCount: 8, countEach: quick ? 10 : 40 },
  { sizeBytes: 16 * MIB, connectionCount: 4, countEach: quick ? 2 : 6 },
  { sizeBytes: 64 * MIB, connectionCount: 1, countEach: quick ? 2 : 6 },
]

interface Figures {
  readonly mibPerSecond: number
  readonly cpuMsPerMib: number
}

async function measured(
  { cpuMs }: BenchServer,
  { sizeBytes, connectionCount, countEach }: Round,
  work: () => Promise<unknown>,
): Promise<Figures> {
  const mib = (connectionCount * countEach * sizeBytes) / MIB
  const startedMs = performance.now()
  const cpuBefore = cpuMs()
  await work()
  const seconds = (performance.now() - startedMs) / 1000
  return { mibPerSecond: mib / seconds, cpuMsPerMib: (cpuMs() - cpuBefore) / mib }
}

function print({ sizeBytes, connectionCount }: Round, inward: Figures, outward: Figures): void {
  const label = `${sizeBytes / 1024} KiB x ${connectionCount}`.padEnd(15)
  const load = loadavg()[0]?.toFixed(1)
  console.log(`${label} ${part('in', inward)}   ${part('out', outward)}   load ${load}`)
}

function part(word: 'in' | 'out', { mibPerSecond, cpuMsPerMib }: Figures): string {
  const speed = `${word} ${mibPerSecond.toFixed(0).padStart(4)} MiB/s`
  const ratio = (mibPerSecond / GOALS[word]).toFixed(2)
  return `${speed} (${ratio} of the goal, ${cpuMsPerMib.toFixed(1)} ms CPU/MiB)`
}

async function upload({ port, authorization }: BenchServer, name: string, round: Round) {
  const body = randomBytes(round.sizeBytes)
  await eachConnection(round, async connection => {
    const socket = new Exchange(port)
    for (let count = 0; count < round.countEach; count++) {
      const head = headOf('PUT', `/${name}/d${connection}-${count}/a.bin`, authorization, round)
      // the first bytes make it differ from all others
      const first = Buffer.from(`${connection}-${count}`.padEnd(32))
      await socket.ask([head, first, body.subarray(first.length)], '201')
    }
    socket.end()
  })
}

async function download({ port, authorization }: BenchServer, name: string, round: Round) {
  await eachConnection(round, async connection => {
    const socket = new Exchange(port)
    for (let count = 0; count < round.countEach; count++) {
      const path = `/${name}/d${connection}-${count}/a.bin`
      await socket.ask([headOf('GET', path, authorization)], '200')
    }
    socket.end()
  })
}

const eachConnection = (round: Round, drive: (connection: number) => Promise<void>) =>
  Promise.all(Array.from({ length: round.connectionCount }, (_, index) => drive(index)))

async function once({ port, authorization }: BenchServer, method: string, path: string) {
  const socket = new Exchange(port)
  await socket.ask([headOf(method, path, authorization)], '20')
  socket.end()
}

function headOf(method: string, path: string, authorization: string, round?: Round): Buffer {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    `Authorization: ${authorization}`,
    ...(round === undefined
      ? []
      : ['Content-Type: application/octet-stream', `Content-Length: ${round.sizeBytes}`]),
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
}

/** One connection, one request at a time; bodies are counted and thrown away. */
class Exchange {
  readonly #socket
  #head: Buffer = Buffer.alloc(0)
  #leftBytes: number | undefined
  #answered: ((status: string) => void) | undefined
  #failed: ((error: Error) => void) | undefined

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1' })
    this.#socket.on('data', chunk => this.#take(chunk))
    this.#socket.on('error', error => this.#failed?.(error))
    this.#socket.on('close', () => this.#failed?.(new Error('the connection was closed')))
  }

  async ask(pieces: readonly Buffer[], status: string): Promise<void> {
    const answer = await new Promise<string>((resolve, reject) => {
      this.#answered = resolve
      this.#failed = reject
      for (const piece of pieces) this.#socket.write(piece)
    })
    if (!answer.startsWith(status)) throw new Error(`status ${answer}`)
  }

  end(): void {
    this.#failed = undefined
    this.#socket.end()
  }

  #take(chunk: Buffer): void {
    if (this.#leftBytes === undefined) {
      this.#head = Buffer.concat([this.#head, chunk])
      const end = this.#head.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = this.#head.toString('latin1', 0, end)
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
      this.#leftBytes = length - (this.#head.length - end - 4)
    } else this.#leftBytes -= chunk.length
    if (this.#leftBytes > 0) return
    const status = this.#head.toString('latin1', 9, 12)
    this.#head = Buffer.alloc(0)
    this.#leftBytes = undefined
    this.#answered?.(status)
  }
}

const server = await runServer({ workerCount: 2 })
try {
  for (const [number, round] of ROUNDS.entries()) {
    const name = `bench${number}`
    await once(server, 'PUT', `/${name}`)
    const inward = await measured(server, round, () => upload(server, name, round))
    const outward = await measured(server, round, () => download(server, name, round))
    print(round, inward, outward)
    await once(server, 'DELETE', `/${name}`)
  }
} finally {
  await server.stop()
}
