/**
 * A piece of network between a client and a server that fails: it delays, cuts, and loses answers to requests that did
 * arrive. What happens to each piece of bytes on its way to the server is for the caller to say.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type TcpFault =
  | 'none'
  /** The bytes arrive, and then the connection is cut: no answer comes back. */
  | 'lose'
  /** The bytes do not arrive; the connection is cut. */
  | 'cut'
  /** The bytes arrive late, even when the client has hung up meanwhile. */
  | 'delay'
  /** The client is cut off at once; its bytes arrive later all the same. */
  | 'orphan'

export interface TcpFaultProxy {
  readonly port: number
  readonly counts: Readonly<Record<TcpFault, number>>
  /** Cuts every connection now. */
  cutAll(): void
  close(): Promise<void>
}

const DELAY_MS = 60

export async function startTcpFaultProxy(
  target: { readonly host: string; readonly port: number },
  choose: (bytes: Buffer) => TcpFault,
): Promise<TcpFaultProxy> {
  const counts: Record<TcpFault, number> = { none: 0, lose: 0, cut: 0, delay: 0, orphan: 0 }
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connect(target.port, target.host)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      socket.on('error', () => {})
    }
    // Bytes that are held back hold back those behind them.
    let last: Promise<void> = Promise.resolve()
    client.on('data', bytes => {
      const fault = choose(bytes)
      counts[fault]++
      last = last.then(() => pass(client, upstream, bytes, fault))
    })
    client.on('close', () => void last.then(() => upstream.destroy()))
    upstream.on('data', bytes => client.write(bytes))
    upstream.on('close', () => client.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    counts,
    cutAll: () => {
      for (const socket of sockets) socket.destroy()
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

async function pass(client: Socket, upstream: Socket, bytes: Buffer, fault: TcpFault) {
  if (fault === 'cut') {
    client.destroy()
    upstream.destroy()
    return
  }
  if (fault === 'orphan') client.destroy()
  if (fault === 'delay' || fault === 'orphan') {
    await new Promise(resolve => setTimeout(resolve, DELAY_MS))
  }
  if (upstream.destroyed) return
  await new Promise<void>(resolve => upstream.write(bytes, () => resolve()))
  if (fault === 'lose') client.destroy()
}
