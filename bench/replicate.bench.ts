/**
 * How fast are documents replicated over HTTP between two databases of one running server? And how long does it take
 * to find out that nothing is new, and to go on after an interruption?
 *
 *   node --import tsx bench/replicate.bench.ts [--quick] [http://admin:pass@127.0.0.1:5984]
 *
 * Without an address it starts a server of its own; the databases it makes are removed at the end. CouchDB 3.5.0 does
 * 1,860 documents a second on a two-core machine.
 */
import { runServer } from './run-server.ts'

const count = process.argv.includes('--quick') ? 20_000 : 100_000
const given = process.argv.slice(2).find(word => !word.startsWith('--'))
const server = given === undefined ? await runServer({ workerCount: 2 }) : undefined
const url = new URL(given ?? `http://admin:pass@127.0.0.1:${server?.port}`)
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

await ask('PUT', `/${source}`)
await ask('PUT', `/${target}`)
try {
  await timed('writing', count, async () => {
    for (let at = 0; at < count; at += 2000) {
      const docs = Array.from({ length: Math.min(2000, count - at) }, (_, index) =>
        document(at + index),
      )
      await ask('POST', `/${source}/_bulk_docs`, { docs })
    }
    return {}
  })
  await timed('replicating over HTTP', count, () => replicate())
  await timed('nothing new', count, () => replicate())
  await ask('POST', `/${source}/_bulk_docs`, { docs: [{ _id: 'one-more' }] })
  await timed('one more document', 1, () => replicate())
  await ask('DELETE', `/${target}`)
  await ask('PUT', `/${target}`)
  await timed('replicating by bare names', count, () =>
    ask('POST', '/_replicate', { source, target }),
  )
} finally {
  await ask('DELETE', `/${source}`)
  await ask('DELETE', `/${target}`)
  await server?.stop()
}
