/**
 * Does the server's memory stay small while a huge attachment goes through it? One of 2 GiB is uploaded, then read back,
 * and the memory of the worker is looked at all the time. The goal is to stay below 150 MiB.
 *
 *   node --import tsx bench/attachment-memory.bench.ts [--quick]
 */
import { createHash, randomBytes } from 'node:crypto'
import { type IncomingMessage, request } from 'node:http'
import { type BenchServer, runServer } from './run-server.ts'

const MIB = 1024 * 1024
const totalBytes = (process.argv.includes('--quick') ? 256 : 2048) * MIB
const GOAL_MIB = 150

const server = await runServer({
  workerCount: 1,
  ini: '[couchdb]\nmax_attachment_size = infinity\n',
})
try {
  await (await send(server, 'PUT', '/memory')).toArray()
  const idle = server.memoryBytes() / MIB
  console.log(`idle       ${idle.toFixed(0)} MiB`)
  const sent = await watched(server, 'upload', () => upload(server))
  const received = await watched(server, 'download', () => download(server))
  if (sent !== received) throw new Error('what came back is not what was sent')
} finally {
  await server.stop()
}

async function watched<T>(
  { memoryBytes }: BenchServer,
  label: string,
  work: () => Promise<T>,
): Promise<T> {
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, memoryBytes())
  }, 50)
  const startedMs = performance.now()
  const result = await work()
  clearInterval(timer)
  const speed = totalBytes / MIB / ((performance.now() - startedMs) / 1000)
  const verdict = most < GOAL_MIB * MIB ? 'below' : 'ABOVE'
  const figures = `${(most / MIB).toFixed(0)} MiB at most, ${verdict} the goal of ${GOAL_MIB}`
  console.log(`${label.padEnd(10)} ${figures}; ${speed.toFixed(0)} MiB/s`)
  return result
}

async function upload(server: BenchServer): Promise<string> {
  const hash = createHash('md5')
  const piece = randomBytes(MIB)
  async function* body(): AsyncGenerator<Buffer> {
    for (let at = 0; at < totalBytes; at += MIB) {
      piece.writeDoubleBE(at)
      const copy = Buffer.from(piece)
      hash.update(copy)
      yield copy
    }
  }
  const response = await send(server, 'PUT', '/memory/d/huge', body())
  await response.toArray()
  if (response.statusCode !== 201) throw new Error(`status ${response.statusCode}`)
  return hash.digest('hex')
}

async function download(server: BenchServer): Promise<string> {
  const hash = createHash('md5')
  for await (const piece of await send(server, 'GET', '/memory/d/huge')) hash.update(piece)
  return hash.digest('hex')
}

function send(
  { port, authorization }: BenchServer,
  method: string,
  path: string,
  body?: AsyncIterable<Buffer>,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: authorization,
      ...(body === undefined
        ? {}
        : { 'Content-Type': 'application/octet-stream', 'Content-Length': totalBytes }),
    }
    const outgoing = request({ port, method, path, headers }, resolve)
    outgoing.on('error', reject)
    if (body === undefined) outgoing.end()
    else void pump(body, outgoing).catch(reject)
  })
}

async function pump(body: AsyncIterable<Buffer>, outgoing: ReturnType<typeof request>) {
  for await (const piece of body) {
    if (!outgoing.write(piece)) await new Promise(resolve => outgoing.once('drain', resolve))
  }
  outgoing.end()
}
