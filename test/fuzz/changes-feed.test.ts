/**
 * Random writes and deletions against a simple model: which documents there are, in the order of their last change. Every
 * way of asking must agree with it: from any sequence, in pages, newest first, by ids, by selector, and what is pending.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer, type TestServer } from '../support/start-server.ts'

const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000)
const ROUNDS = 40

function randomFrom(start: number): () => number {
  let state = start || 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

interface Known {
  readonly id: string
  readonly rev: string
  readonly deleted: boolean
  readonly n: number
}

interface Feed {
  readonly results: readonly {
    readonly seq: string
    readonly id: string
    readonly changes: readonly { readonly rev: string }[]
    readonly deleted?: boolean
    readonly doc?: { readonly n?: number }
  }[]
  readonly last_seq: string
  readonly pending: number
}

class Model {
  /** In the order of their last change. */
  readonly documents = new Map<string, Known>()
  readonly #server: TestServer
  readonly #random: () => number

  constructor(server: TestServer, random: () => number) {
    this.#server = server
    this.#random = random
  }

  below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  async write(): Promise<void> {
    const docs = Array.from({ length: 1 + this.below(20) }, () => this.#edit())
    const distinct = [...new Map(docs.map(doc => [doc._id, doc])).values()]
    const answer = await this.#server.ask('POST', '/db/_bulk_docs', { body: { docs: distinct } })
    const results = answer.json as { id: string; rev: string }[]
    for (const [index, { id, rev }] of results.entries()) {
      const { _deleted = false, n } = distinct[index] as { _deleted?: boolean; n: number }
      this.documents.delete(id)
      this.documents.set(id, { id, rev, deleted: _deleted, n })
    }
  }

  #edit() {
    const number = this.below(300)
    const _id = number % 50 === 0 ? `${'long'.repeat(400)}${number}` : `d${number}`
    const known = this.documents.get(_id)
    const _rev = known === undefined || known.deleted ? {} : { _rev: known.rev }
    const _deleted = '_rev' in _rev && this.below(4) === 0 ? { _deleted: true } : {}
    return { _id, ..._rev, ..._deleted, n: this.below(10) }
  }

  async feed(query: string, body?: object): Promise<Feed> {
    const method = body === undefined ? 'GET' : 'POST'
    const answer = await this.#server.ask(method, `/db/_changes?${query}`, { body })
    assert.equal(answer.status, 200, answer.text)
    return answer.json as Feed
  }

  get list(): Known[] {
    return [...this.documents.values()]
  }
}

const shown = (feed: Feed): string[] =>
  feed.results.map(({ id, changes, deleted }) => `${id} ${changes[0]?.rev} ${deleted ?? false}`)

const expected = (known: readonly Known[]): string[] =>
  known.map(({ id, rev, deleted }) => `${id} ${rev} ${deleted}`)

async function checkPages(model: Model): Promise<void> {
  const all = model.list
  const size = 1 + model.below(40)
  let since = '0'
  for (let at = 0; at <= all.length; at += size) {
    const page = await model.feed(`since=${since}&limit=${size}`)
    assert.deepEqual(shown(page), expected(all.slice(at, at + size)))
    assert.equal(page.pending, Math.max(0, all.length - at - size))
    since = page.last_seq
  }
}

async function checkFilters(model: Model): Promise<void> {
  const all = model.list
  for (const count of [3, 150]) {
    const ids = Array.from({ length: count }, () => `d${model.below(400)}`)
    const wanted = all.filter(({ id }) => ids.includes(id))
    const feed = await model.feed('filter=_doc_ids', { doc_ids: ids })
    assert.deepEqual(shown(feed), expected(wanted))
  }
  const n = model.below(10)
  const limit = 1 + model.below(10)
  const selected = await model.feed(`filter=_selector&include_docs=true&limit=${limit}`, {
    selector: { n },
  })
  const wanted = all.filter(known => known.n === n).slice(0, limit)
  assert.deepEqual(shown(selected), expected(wanted))
  for (const { doc } of selected.results) assert.equal(doc?.n, n)
}

test(`feeds agree with a model (seed ${seed})`, async () => {
  const server = await startServer({ dialect: 'couchdb' })
  await server.ask('PUT', '/db')
  const model = new Model(server, randomFrom(seed))
  for (let round = 0; round < ROUNDS; round++) {
    await model.write()
    const all = model.list
    const whole = await model.feed('include_docs=true')
    assert.deepEqual(shown(whole), expected(all))
    const from = model.below(all.length)
    const rest = await model.feed(`since=${whole.results[from]?.seq}`)
    assert.deepEqual(shown(rest), expected(all.slice(from + 1)))
    const limit = 1 + model.below(all.length)
    const newest = await model.feed(`descending=true&limit=${limit}`)
    assert.deepEqual(shown(newest), expected(all.reverse().slice(0, limit)))
    assert.equal(newest.pending, all.length - limit)
    await checkFilters(model)
    if (round % 8 === 0) await checkPages(model)
  }
  await server.close()
})
