/**
 * How fast are documents replicated over HTTP between two databases of one running server? And how long does it take
 * to find out that nothing is new, and to go on after an interruption? And how fast does a PouchDB client (from npm, in
 * memory, in this process: most of the time is its own) pull and push?
 *
 *   node --import tsx bench/replicate.bench.ts [--quick] [http://admin:pass@127.0.0.1:5984]
 *
 * Without an address it starts a server of its own; the databases it makes are removed at the end. CouchDB 3.5.0 does
 * 1,860 documents a second on a two-core machine.
 */
import { createRequire } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'
import { runServer } from './run-server.ts'

const count = process.argv.includes('--quick') ? 20_000 : 100_000
const given = process.argv.slice(2).find(word => !word.startsWith('--'))
const server = given === undefined ? await runServer({ workerCount: 2 }) : undefined
const url = new URL(given ?? `http://admin:pass@127.0.0.1:${server?.port}`)
const credentials = { username: url.username, password: url.password }
const authorization = `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}`
url.username = ''
url.password = ''

async function ask(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(new URL(path, url), {
    method,
    headers: {
      Authorization: authorization,
      Accept: 'application/json',
      'Content-Type': 'application/json',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const answer: unknown = await response.json()
  if (!response.ok)
    throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`)
  return answer
}

async function timed(name: string, documents: number, work: () => Promise<unknown>): Promise<void> {
  const start = performance.now()
  const answer = await work()
  const seconds = (performance.now() - start) / 1000
  const rate = Math.round(documents / seconds)
  const [entry] = (answer as { history?: { docs_written: number }[] }).history ?? []
  const written = entry === undefined ? '' : `, ${entry.docs_written} written`
  console.log(`${name}: ${seconds.toFixed(2)} s, ${rate} documents/s${written}`)
}

const document = (index: number) => ({
  _id: `contact-${index.toString(36).padStart(8, '0')}`,
  type: 'person',
  name: `Somebody ${index}`,
  phone: `+2547${index}`,
  parent: { _id: `clinic-${index % 100}`, parent: { _id: `area-${index % 10}` } },
  reported_date: 1_700_000_000_000 + index,
  notes: 'A line of text as people write them about a visit, neither short nor long.',
  tags: ['a', 'b', 'c'],
})

const source = `bench-source-${process.pid}`
const target = `bench-target-${process.pid}`
const endpoint = (name: string) => ({
  url: new URL(name, url).href,
  headers: { Authorization: authorization },
})
const replicate = (more: object = {}) =>
  ask('POST', '/_replicate', { source: endpoint(source), target: endpoint(target), ...more })

/** Stops a replication that is a third done and starts another: what that one writes is what was left. */
async function interrupt(): Promise<void> {
  const endpoints = { source: endpoint(source), target: endpoint(target) }
  const job = { ...endpoints, continuous: true }
  await ask('POST', '/_replicate', job)
  for (;;) {
    const { doc_count: done } = (await ask('GET', `/${target}`)) as { doc_count: number }
    if (done > count / 3) break
    await delay(50)
  }
  await ask('POST', '/_replicate', { ...job, cancel: true })
  const { doc_count: there } = (await ask('GET', `/${target}`)) as { doc_count: number }
  await timed(`after an interruption at ${there}`, count - there, () => replicate())
}

interface PouchDatabase {
  destroy(): Promise<void>
}
interface PouchClass {
  new (name: string, options: object): PouchDatabase
  plugin(plugin: unknown): PouchClass
  replicate(from: PouchDatabase, to: PouchDatabase, options: object): Promise<unknown>
}

async function pouchdb(): Promise<void> {
  const require = createRequire(import.meta.url)
  const PouchDB = (require('pouchdb') as PouchClass).plugin(require('pouchdb-adapter-memory'))
  const remote = (name: string) => new PouchDB(new URL(name, url).href, { auth: credentials })
  const local = new PouchDB('bench', { adapter: 'memory' })
  const options = { batch_size: 1000 }
  await timed('pulled by PouchDB', count, () => PouchDB.replicate(remote(source), local, options))
  await emptyTarget()
  await timed('pushed by PouchDB', count, () => PouchDB.replicate(local, remote(target), options))
  await local.destroy()
}

async function write(): Promise<unknown> {
  for (let at = 0; at < count; at += 2000) {
    const docs = Array.from({ length: Math.min(2000, count - at) }, (_, index) =>
      document(at + index),
    )
    await ask('POST', `/${source}/_bulk_docs`, { docs })
  }
  return {}
}

async function emptyTarget(): Promise<void> {
  await ask('DELETE', `/${target}`)
  await ask('PUT', `/${target}`)
}

await ask('PUT', `/${source}`)
await ask('PUT', `/${target}`)
try {
  await timed('writing', count, write)
  await timed('replicating over HTTP', count, () => replicate())
  await timed('nothing new', count, () => replicate())
  await ask('POST', `/${source}/_bulk_docs`, { docs: [{ _id: 'one-more' }] })
  await timed('one more document', 1, () => replicate())
  await emptyTarget()
  await timed('replicating by bare names', count, () =>
    ask('POST', '/_replicate', { source, target }),
  )
  await emptyTarget()
  await interrupt()
  await pouchdb()
} finally {
  await ask('DELETE', `/${source}`)
  await ask('DELETE', `/${target}`)
  await server?.stop()
}
