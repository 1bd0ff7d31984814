/**
 * An attachment far larger than the server's memory may grow goes in and out; its processes are watched meanwhile. The
 * bound is generous, since it is the garbage collector that decides. `bench/attachment-memory.bench.ts` asks for more.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { platform, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { largestMemoryBytes } from '../support/process-figures.ts'
import { type RunningServer, startProcess } from '../support/start-process.ts'

const MIB = 1024 * 1024
const TOTAL_BYTES = 200 * MIB
const GROWTH_BYTES_MAX = 100 * MIB

const skip = platform() === 'linux' ? false : 'memory of processes is read from /proc'

describe('memory while an attachment streams', { skip }, () => {
  it('stays bounded, and the bytes are right', { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gurney-memory-'))
    const server = await startProcess(folder, ['--admin', 'admin:pass', '--workers', '1'])
    try {
      await drained(await send(server, 'PUT', '/db'))
      const idle = largestMemoryBytes(server.process.pid as number)
      const watch = new Watch(server)
      const sent = createHash('md5')
      const answer = await send(server, 'PUT', '/db/d/a', body(sent))
      await drained(answer)
      assert.equal(answer.statusCode, 201)
      const received = createHash('md5')
      for await (const piece of await send(server, 'GET', '/db/d/a')) received.update(piece)
      assert.equal(received.digest('hex'), sent.digest('hex'))
      const inline = await send(server, 'GET', '/db/d?attachments=true')
      assert.ok((await drained(inline)) > (TOTAL_BYTES * 4) / 3)
      const growth = watch.end() - idle
      assert.ok(growth < GROWTH_BYTES_MAX, `memory grew by ${Math.round(growth / MIB)} MiB`)
    } finally {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

class Watch {
  readonly #timer: NodeJS.Timeout
  #most = 0

  constructor({ process }: RunningServer) {
    this.#timer = setInterval(() => {
      this.#most = Math.max(this.#most, largestMemoryBytes(process.pid as number))
    }, 25)
  }

  /** The most that was seen. */
  end(): number {
    clearInterval(this.#timer)
    return this.#most
  }
}

async function* body(hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  const random = randomBytes(MIB)
  for (let at = 0; at < TOTAL_BYTES; at += MIB) {
    const piece = Buffer.from(random)
    piece.writeDoubleBE(at)
    hash.update(piece)
    yield piece
  }
}

function send(
  { port }: RunningServer,
  method: string,
  path: string,
  source?: AsyncIterable<Buffer>,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const type = source === undefined ? {} : { 'Content-Type': 'application/octet-stream' }
    const headers = { Accept: 'application/json', ...type }
    const outgoing = request({ port, method, path, headers, auth: 'admin:pass' }, resolve)
    outgoing.on('error', reject)
    if (source === undefined) outgoing.end()
    else pump(source, outgoing).catch(reject)
  })
}

async function pump(source: AsyncIterable<Buffer>, outgoing: ReturnType<typeof request>) {
  for await (const piece of source) {
    if (!outgoing.write(piece)) await new Promise(resolve => outgoing.once('drain', resolve))
  }
  outgoing.end()
}

async function drained(message: IncomingMessage): Promise<number> {
  let bytes = 0
  for await (const piece of message) bytes += (piece as Buffer).length
  return bytes
}
