/**
 * Connections through a proxy: a tunnel made with HTTP's CONNECT or with SOCKS5 (no login, or name and password). The
 * name of the host is resolved by the proxy.
 */
import { connect, type Socket } from 'node:net'
import { passing } from './retry.ts'

const ANSWER_BYTES_MAX = 16 * 1024

export async function connectThrough(
  proxy: URL,
  host: string,
  port: number,
  timeoutMs: number,
): Promise<Socket> {
  const socket = await dial(proxy, timeoutMs)
  const timer = setTimeout(() => socket.destroy(passing('the proxy does not answer')), timeoutMs)
  try {
    if (proxy.protocol === 'socks5:') await socksHandshake(socket, proxy, host, port)
    else await httpTunnel(socket, proxy, host, port)
    return socket
  } catch (thrown) {
    socket.destroy()
    throw thrown
  } finally {
    clearTimeout(timer)
  }
}

function dial(proxy: URL, timeoutMs: number): Promise<Socket> {
  const port = proxy.port === '' ? DEFAULT_PORTS[proxy.protocol] : Number(proxy.port)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostOf(proxy), port: port ?? 80 })
    const fail = (cause?: unknown): void => {
      socket.destroy()
      reject(passing('the proxy cannot be reached', {}, cause))
    }
    socket.setTimeout(timeoutMs, () => fail())
    socket.once('error', fail)
    socket.once('connect', () => {
      socket.setTimeout(0)
      socket.off('error', fail)
      resolve(socket)
    })
  })
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  'http:': 80,
  'https:': 443,
  'socks5:': 1080,
}

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '')

export function proxyAuthorization(proxy: URL): string | undefined {
  if (proxy.username === '') return undefined
  const login = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  return `Basic ${Buffer.from(login).toString('base64')}`
}

async function httpTunnel(socket: Socket, proxy: URL, host: string, port: number): Promise<void> {
  const place = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const authorization = proxyAuthorization(proxy)
  const login = authorization === undefined ? '' : `Proxy-Authorization: ${authorization}\r\n`
  socket.write(`CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\n${login}\r\n`)
  const head = await readUntil(socket, bytes => {
    const end = bytes.indexOf('\r\n\r\n')
    return end < 0 ? undefined : end + 4
  })
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head.toString('latin1'))?.[1]
  if (status === undefined || !status.startsWith('2')) {
    throw passing(`the proxy refuses the connection (${status ?? 'no HTTP'})`)
  }
}

async function socksHandshake(socket: Socket, proxy: URL, host: string, port: number) {
  const hasLogin = proxy.username !== ''
  socket.write(Buffer.from(hasLogin ? [5, 2, 0, 2] : [5, 1, 0]))
  const [version, method] = await readCount(socket, 2)
  if (version !== 5) throw passing('the proxy does not speak SOCKS5')
  if (method === 2 && hasLogin) await socksLogin(socket, proxy)
  else if (method !== 0) throw passing('the proxy asks for a login')
  const name = Buffer.from(host)
  const request = Buffer.alloc(7 + name.length)
  request.set([5, 1, 0, 3, name.length])
  request.set(name, 5)
  request.writeUInt16BE(port, 5 + name.length)
  socket.write(request)
  const [, code, , kind] = await readCount(socket, 4)
  if (code !== 0) throw passing(`the proxy refuses the connection (${code})`)
  const addressBytes = kind === 1 ? 4 : kind === 4 ? 16 : ((await readCount(socket, 1))[0] ?? 0)
  await readCount(socket, addressBytes + 2)
}

async function socksLogin(socket: Socket, proxy: URL): Promise<void> {
  const user = Buffer.from(decodeURIComponent(proxy.username)).subarray(0, 255)
  const password = Buffer.from(decodeURIComponent(proxy.password)).subarray(0, 255)
  const parts = [Buffer.of(1, user.length), user, Buffer.of(password.length), password]
  socket.write(Buffer.concat(parts))
  const [, status] = await readCount(socket, 2)
  if (status !== 0) throw passing('the proxy refuses the login')
}

const readCount = (socket: Socket, count: number): Promise<Buffer> =>
  readUntil(socket, bytes => (bytes.length >= count ? count : undefined))

/** Reads until `isEnough` says how many bytes belong together; gives the rest back to the socket. */
function readUntil(
  socket: Socket,
  isEnough: (bytes: Buffer) => number | undefined,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0)
    const stop = (): void => {
      socket.off('readable', read)
      socket.off('end', closed)
      socket.off('error', closed)
      socket.off('close', closed)
    }
    const closed = (cause?: unknown): void => {
      stop()
      reject(passing('the proxy closed the connection', {}, cause))
    }
    const read = (): void => {
      for (;;) {
        const chunk = socket.read() as Buffer | null
        if (chunk === null) return
        bytes = Buffer.concat([bytes, chunk])
        const end = isEnough(bytes)
        if (end !== undefined) {
          stop()
          if (end < bytes.length) socket.unshift(bytes.subarray(end))
          resolve(bytes.subarray(0, end))
          return
        }
        if (bytes.length > ANSWER_BYTES_MAX) {
          closed()
          return
        }
      }
    }
    socket.on('readable', read)
    socket.once('end', closed)
    socket.once('error', closed)
    socket.once('close', closed)
    read()
  })
}
