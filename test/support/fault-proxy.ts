/**
 * A server between two others that does not do what it should: it cuts, delays, refuses, loses, shortens and falls silent.
 * What it does to each request is for the caller to say, so a run can be repeated.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export type Fault =
  /** Nothing is wrong. */
  | 'none'
  /** The connection closes before the request arrives anywhere. */
  | 'refuse'
  /** 500 instead of the request being done. */
  | 'error'
  /** The request is done, its answer is lost. */
  | 'lose'
  /** The connection closes in the middle of the answer. */
  | 'cut'
  /** Half of the answer, as if that were all. */
  | 'shorten'
  /** Done and answered late. */
  | 'delay'
  /** Never answered. */
  | 'silence'

export interface FaultProxy {
  readonly address: string
  readonly counts: Readonly<Record<Fault, number>>
  close(): Promise<void>
}

export async function startFaultProxy(
  target: string,
  choose: (request: IncomingMessage) => Fault,
): Promise<FaultProxy> {
  const counts: Record<string, number> = {}
  const sockets = new Set<Socket>()
  const server = createServer((incoming, response) => {
    const fault = choose(incoming)
    counts[fault] = (counts[fault] ?? 0) + 1
    void pass(target, incoming, response, fault).catch(() => response.destroy())
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    address: `http://127.0.0.1:${port}`,
    counts: counts as Record<Fault, number>,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

async function pass(
  target: string,
  incoming: IncomingMessage,
  response: ServerResponse,
  fault: Fault,
): Promise<void> {
  if (fault === 'refuse') {
    incoming.socket.destroy()
    return
  }
  const body = await read(incoming)
  if (fault === 'silence') return
  if (fault === 'error') {
    response.writeHead(500, { 'Content-Type': 'application/json' })
    response.end('{"error":"internal_server_error","reason":"on purpose"}')
    return
  }
  const { status, headers, bytes } = await forward(target, incoming, body)
  if (fault === 'delay') await new Promise(resolve => setTimeout(resolve, 60))
  if (fault === 'lose') {
    incoming.socket.destroy()
    return
  }
  const half = bytes.subarray(0, bytes.length >> 1)
  const sent = fault === 'shorten' ? half : bytes
  const { 'transfer-encoding': _, connection: __, ...kept } = headers
  response.writeHead(status, { ...kept, 'content-length': String(sent.length) })
  if (fault === 'cut') response.write(half, () => response.destroy())
  else response.end(sent)
}

function forward(target: string, incoming: IncomingMessage, body: Buffer) {
  const url = new URL(incoming.url ?? '/', target)
  const { host: _, connection: __, ...headers } = incoming.headers
  type Forwarded = { status: number; headers: IncomingMessage['headers']; bytes: Buffer }
  return new Promise<Forwarded>((resolve, reject) => {
    const outgoing = request(url, { method: incoming.method, headers }, async answer => {
      const bytes = await read(answer)
      resolve({ status: answer.statusCode ?? 500, headers: answer.headers, bytes })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

async function read(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}
