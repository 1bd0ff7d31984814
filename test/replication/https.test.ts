/** Replications with servers that speak https: whose certificates count, and which one is shown. */
import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer as createProxy, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Front, startFront } from '../support/front-server.ts'
import {
  type ReplicationServer,
  startReplicationServer,
  until,
} from '../support/replication-pair.ts'
import { ADMIN } from '../support/start-server.ts'

const FOLDER = join(import.meta.dirname, '../support/certificates')
const CERT_FILE = join(FOLDER, 'cert.pem')
const KEY_FILE = join(FOLDER, 'key.pem')
const cert = readFileSync(CERT_FILE)
const key = readFileSync(KEY_FILE)

let server: ReplicationServer
let front: Front
/** Lets in only those who show the certificate. */
let guarded: Front
let proxy: Server
let folder: string
before(async () => {
  server = await startReplicationServer({ settings: { replicator: { retries_per_request: '0' } } })
  front = await startFront(server.address, { cert, key })
  const guard = { requestCert: true, rejectUnauthorized: true, ca: cert }
  guarded = await startFront(server.address, { cert, key, ...guard })
  proxy = createProxy()
  proxy.on('connect', (incoming, socket: Socket) => {
    const [host, port] = String(incoming.url).split(':')
    const far = connect(Number(port), host as string, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      far.pipe(socket).pipe(far)
    })
    far.on('error', () => socket.destroy())
    socket.on('error', () => far.destroy())
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  folder = await mkdtemp(join(tmpdir(), 'gurney-https-'))
})
after(async () => {
  proxy.closeAllConnections()
  proxy.close()
  front.close()
  guarded.close()
  await server.close()
  await rm(folder, { recursive: true })
})

let round = 0
let source: string
let target: string
beforeEach(async () => {
  configure({})
  source = `s${++round}`
  target = `t${round}`
  await server.make(source, target)
  await server.ask('PUT', `/${source}/a`, {})
  const data = Buffer.alloc(300_000, 'x').toString('base64')
  const _attachments = { f: { content_type: 'image/png', data } }
  await server.ask('PUT', `/${source}/file`, { _attachments })
})

const KEYS = [
  'verify_ssl_certificates',
  'ssl_trusted_certificates_file',
  'cert_file',
  'key_file',
  'password',
] as const

function configure(values: Partial<Record<(typeof KEYS)[number], string>>): void {
  for (const each of KEYS) {
    const change = { section: 'replicator', key: each, value: values[each] }
    server.server.configuration.apply(change)
  }
}

/** The status, once it is certain that documents went over exactly when it is 200. */
async function replicate({ place }: Front, more: object = {}): Promise<number> {
  const url = `https://${ADMIN}@${place}/`
  const body = { source: `${url}${source}`, target: `${url}${target}`, ...more }
  const { status, text } = await server.replicate(body)
  const copied = (await server.ask('GET', `/${target}/file/f`)).status
  assert.equal(copied, status === 200 ? 200 : 404, text)
  assert.equal(text.includes('pass'), false)
  return status
}

describe('a replication over https', () => {
  it('goes only to servers whose certificate is valid', async () => {
    assert.equal(await replicate(front), 500)
    assert.equal(front.seen.length, 0)
    configure({ ssl_trusted_certificates_file: CERT_FILE })
    assert.equal(await replicate(front), 200)
    assert.ok(front.seen.length > 5)
  })

  it('goes to any server when nobody wants to know', async () => {
    configure({ verify_ssl_certificates: 'false' })
    assert.equal(await replicate(front), 200)
  })

  it('checks the name as well as the signature', async () => {
    configure({ ssl_trusted_certificates_file: CERT_FILE })
    const other = { ...front, place: front.place.replace('127.0.0.1', '127.0.0.2') }
    assert.equal(await replicate(other), 500)
  })

  it('shows its own certificate where one is asked for', async () => {
    configure({ ssl_trusted_certificates_file: CERT_FILE })
    assert.equal(await replicate(guarded), 500)
    const own = { cert_file: CERT_FILE, key_file: KEY_FILE }
    configure({ ssl_trusted_certificates_file: CERT_FILE, ...own })
    assert.equal(await replicate(guarded), 200)
  })

  it('opens a key that has a password', async () => {
    const locked = join(folder, 'locked.pem')
    const cipher = { cipher: 'aes-256-cbc', passphrase: 'for the key' }
    const options = { type: 'pkcs8', format: 'pem', ...cipher } as const
    writeFileSync(locked, createPrivateKey(key).export(options))
    const own = { cert_file: CERT_FILE, key_file: locked, password: 'for the key' }
    configure({ ssl_trusted_certificates_file: CERT_FILE, ...own })
    assert.equal(await replicate(guarded), 200)
  })

  it('goes through a tunnel, and checks who is at its end', async () => {
    const through = { proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` }
    assert.equal(await replicate(front, through), 500)
    configure({ ssl_trusted_certificates_file: CERT_FILE })
    assert.equal(await replicate(front, through), 200)
  })

  it('says which file is missing, and goes on living', async () => {
    configure({ ssl_trusted_certificates_file: join(folder, 'nowhere.pem') })
    assert.equal(await replicate(front), 500)
    const url = `https://${ADMIN}@${front.place}/`
    const ends = { source: `${url}${source}`, target: `${url}${target}` }
    await server.replicate({ ...ends, continuous: true })
    await until('the run is over', async () => {
      const { jobs } = (await server.ask('GET', '/_scheduler/jobs')).json as { jobs: Job[] }
      const isCrashed = jobs[0]?.history[0]?.type === 'crashed' && jobs[0].pid === null
      return isCrashed && /ssl_trusted_certificates_file/.test(jobs[0]?.info.error ?? '')
    })
    await server.replicate({ ...ends, continuous: true, cancel: true })
    configure({ ssl_trusted_certificates_file: CERT_FILE })
    assert.equal(await replicate(front), 200)
  })
})

interface Job {
  readonly pid: string | null
  readonly history: readonly { readonly type: string }[]
  readonly info: { readonly error?: string }
}
