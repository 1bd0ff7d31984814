/**
 * Two nodes on one PostgreSQL server under mixed load, while a node is killed and started again, the server restarts, and
 * connections are cut, delayed and lose their answers. In the end every write that was acknowledged is there, once; the
 * feeds that were followed on both nodes missed nothing; and the index is what its documents make of it.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { isOwnPostgres, startPostgres } from '../support/postgres.ts'
import { type RunningServer, startProcess } from '../support/start-process.ts'
import {
  startTcpFaultProxy,
  type TcpFault,
  type TcpFaultProxy,
} from '../support/tcp-fault-proxy.ts'

const ADMIN = 'admin:pass'
const HEADERS = {
  Authorization: `Basic ${Buffer.from(ADMIN).toString('base64')}`,
  'Content-Type': 'application/json',
}
const COUNTERS = ['c0', 'c1', 'c2']
const QUIET_MS = 1500

interface Node {
  readonly name: string
  readonly folder: string
  readonly address: string
  server: RunningServer
}

interface Answer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

/** Undefined: there was no answer, or one that says the server could not. */
async function ask(node: Node, method: string, path: string, body?: unknown) {
  try {
    const answer = await fetch(`${node.server.url()}${path}`, {
      method,
      headers: HEADERS,
      signal: AbortSignal.timeout(60_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const json = (await answer.json()) as Answer['json']
    return answer.status >= 500 ? undefined : { status: answer.status, json }
  } catch {
    return undefined
  }
}

async function insist(node: Node, method: string, path: string, body?: unknown): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await ask(node, method, path, body)
    if (answer !== undefined) return answer
    assert.ok(attempt < 100, `${method} ${path} never succeeds`)
    await pause(100)
  }
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** What the load knows to be done, and what may have been done. */
interface Ledger {
  readonly tags: string[]
  readonly added: Map<string, number>
  readonly unsure: Map<string, number>
  stop: boolean
}

async function writeDocuments(nodes: readonly Node[], ledger: Ledger): Promise<void> {
  for (let turn = 0; !ledger.stop; turn++) {
    const tag = randomBytes(8).toString('hex')
    const answer = await ask(nodes[turn % nodes.length] as Node, 'POST', '/load', { tag, n: turn })
    if (answer?.status === 201) ledger.tags.push(tag)
    else if (answer === undefined) await pause(50)
    else assert.fail(`a document was refused: ${JSON.stringify(answer)}`)
  }
}

async function count(nodes: readonly Node[], ledger: Ledger, id: string): Promise<void> {
  for (let turn = 0; !ledger.stop; turn++) {
    const node = nodes[turn % nodes.length] as Node
    const read = await ask(node, 'GET', `/load/${id}`)
    if (read?.status !== 200) {
      await pause(50)
      continue
    }
    const next = { ...read.json, value: Number(read.json.value) + 1 }
    const written = await ask(node, 'PUT', `/load/${id}`, next)
    const book = written?.status === 201 ? ledger.added : ledger.unsure
    if (written?.status !== 409) book.set(id, (book.get(id) ?? 0) + 1)
  }
}

async function query(nodes: readonly Node[], ledger: Ledger): Promise<void> {
  for (let turn = 0; !ledger.stop; turn++) {
    await ask(nodes[turn % nodes.length] as Node, 'GET', '/load/_design/d/_view/by_n?limit=5')
    await pause(100)
  }
}

/** Follows the feed of one node as a client does: from where it was, whatever happens. */
class Feed {
  readonly seen = new Set<string>()
  readonly #node: Node
  #since = '0'
  #last: Promise<void>
  #stopped = false

  constructor(node: Node) {
    this.#node = node
    this.#last = this.#follow()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#last
  }

  async #follow(): Promise<void> {
    let isQuiet = false
    while (!(this.#stopped && isQuiet)) {
      const since = encodeURIComponent(this.#since)
      const path = `/load/_changes?feed=longpoll&timeout=${QUIET_MS}&since=${since}`
      const answer = await ask(this.#node, 'GET', path)
      if (answer?.status !== 200) {
        await pause(50)
        continue
      }
      const results = answer.json.results as { id: string }[]
      for (const { id } of results) this.seen.add(id)
      this.#since = String(answer.json.last_seq)
      isQuiet = results.length === 0
    }
  }
}

/** Now and then something happens to what is on its way to the server. */
function rareFaults(): () => TcpFault {
  const faults: readonly TcpFault[] = ['delay', 'cut', 'lose', 'orphan']
  let turn = 0
  return () => {
    turn++
    return turn % 97 === 0 ? (faults[(turn / 97) % faults.length] as TcpFault) : 'none'
  }
}

async function startNode(name: string, address: string): Promise<Node> {
  const folder = await mkdtemp(join(tmpdir(), 'gurney-faults-'))
  const node = { name, folder, address }
  return { ...node, server: await launch(node) }
}

async function launch({ folder, name, address }: Omit<Node, 'server'>): Promise<RunningServer> {
  const flags = ['--admin', ADMIN, '--workers', '2', '--node-name', `${name}@127.0.0.1`]
  for (let attempt = 1; ; attempt++) {
    try {
      return await startProcess(folder, flags, { GURNEY_ENGINE: address })
    } catch (thrown) {
      // The way in is through bad network as well.
      if (attempt === 10) throw thrown
    }
  }
}

describe('two nodes on PostgreSQL under load', () => {
  const skip = !isOwnPostgres()
  it('lose nothing that they acknowledged, and do nothing twice', { skip }, async () => {
    const postgres = await startPostgres()
    const proxies: TcpFaultProxy[] = []
    const nodes: Node[] = []
    try {
      const address = postgres.address()
      for (const name of ['one', 'two']) {
        const proxy = await startTcpFaultProxy(postgres, rareFaults())
        proxies.push(proxy)
        const url = new URL(address)
        url.host = `127.0.0.1:${proxy.port}`
        nodes.push(await startNode(name, url.href))
      }
      const ledger = await run(nodes, proxies, () => postgres.restart())
      for (const proxy of proxies) assert.ok(proxy.counts.cut > 0 && proxy.counts.lose > 0)
      await checkDocuments(nodes, ledger)
      await checkIndex(nodes)
    } finally {
      for (const { server } of nodes) await server.kill()
      for (const proxy of proxies) await proxy.close()
      await postgres.stop()
      for (const { folder } of nodes) await rm(folder, { recursive: true, force: true })
    }
  })
})

async function run(
  nodes: readonly Node[],
  proxies: readonly TcpFaultProxy[],
  restartPostgres: () => Promise<void>,
): Promise<Ledger> {
  const [one, two] = nodes as [Node, Node]
  await insist(one, 'PUT', '/load')
  const views = { by_n: { map: 'function (doc) { if (doc.tag) emit(doc.n, doc.tag) }' } }
  await insist(one, 'PUT', '/load/_design/d', { views })
  for (const id of COUNTERS) await insist(two, 'PUT', `/load/${id}`, { value: 0 })
  const ledger: Ledger = { tags: [], added: new Map(), unsure: new Map(), stop: false }
  const feeds = nodes.map(node => new Feed(node))
  const load = [
    ...Array.from({ length: 4 }, () => writeDocuments(nodes, ledger)),
    ...COUNTERS.map(id => count(nodes, ledger, id)),
    query(nodes, ledger),
  ]
  await pause(2000)
  for (const proxy of proxies) proxy.cutAll()
  await pause(1500)
  await two.server.kill()
  await pause(1500)
  two.server = await launch(two)
  await restartPostgres()
  await pause(3000)
  ledger.stop = true
  await Promise.all(load)
  for (const feed of feeds) await feed.stop()
  await checkFeeds(one, feeds)
  return ledger
}

async function checkFeeds(node: Node, feeds: readonly Feed[]): Promise<void> {
  const { json } = await insist(node, 'GET', '/load/_changes')
  const ids = (json.results as { id: string }[]).map(({ id }) => id)
  for (const feed of feeds) {
    assert.deepEqual(
      ids.filter(id => !feed.seen.has(id)),
      [],
      'the feed told of every change',
    )
  }
}

interface Row {
  readonly id: string
  readonly doc: Readonly<Record<string, unknown>>
}

const allRows = async (node: Node): Promise<Row[]> =>
  (await insist(node, 'GET', '/load/_all_docs?include_docs=true')).json.rows as Row[]

async function checkDocuments(nodes: readonly Node[], ledger: Ledger): Promise<void> {
  assert.ok(ledger.tags.length > 50, `only ${ledger.tags.length} documents were written`)
  for (const node of nodes) {
    const rows = await allRows(node)
    const tags = rows.flatMap(({ doc }) => (typeof doc.tag === 'string' ? [doc.tag] : []))
    assert.equal(new Set(tags).size, tags.length, 'no document is there twice')
    const there = new Set(tags)
    assert.deepEqual(
      ledger.tags.filter(tag => !there.has(tag)),
      [],
      'every acknowledged document is there',
    )
    for (const id of COUNTERS) {
      const value = Number(rows.find(row => row.id === id)?.doc.value)
      const least = ledger.added.get(id) ?? 0
      const most = least + (ledger.unsure.get(id) ?? 0)
      assert.ok(value >= least && value <= most, `${id}: ${least} <= ${value} <= ${most}`)
    }
  }
}

async function checkIndex(nodes: readonly Node[]): Promise<void> {
  const expected = (await allRows(nodes[0] as Node))
    .filter(({ doc }) => doc.tag !== undefined)
    .map(({ id, doc }) => `${id} ${doc.n} ${doc.tag}`)
    .sort()
  for (const node of nodes) {
    const { json } = await insist(node, 'GET', '/load/_design/d/_view/by_n')
    const rows = json.rows as { id: string; key: number; value: string }[]
    const found = rows.map(({ id, key, value }) => `${id} ${key} ${value}`).sort()
    assert.deepEqual(found, expected, 'the index is what a recomputation gives')
  }
}
