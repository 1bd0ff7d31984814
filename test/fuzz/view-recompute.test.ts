/**
 * Views that followed random edits, deletions, conflicts and purges step by step answer like views that are built from
 * nothing, and like a plain model of them. Over the whole server in this process, with the real sandbox.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer, type TestServer } from '../support/start-server.ts'

const SEED = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000)
const ROUNDS = 12
const EDITS = 25
const IDS = Array.from({ length: 30 }, (_, n) => (n % 7 === 0 ? `é "${n}"` : `doc-${n}`))

let state = SEED
function below(limit: number): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 4294967296) * limit)
}

const VIEWS = {
  number: { map: 'function (doc) { emit(doc.n, doc._rev) }', reduce: '_count' },
  words: {
    map: `function (doc) {
      doc.words.forEach(function (word) { emit([word, doc.n % 3], doc.n); emit(word, null) })
    }`,
  },
  total: { map: 'function (doc) { emit([doc.n % 2, doc.n], doc.n) }', reduce: '_stats' },
  conflicts: {
    map: `function (doc) {
      if (doc.n === 13) throw new Error('unlucky')
      emit(doc._conflicts ? doc._conflicts.length : 0, doc._deleted_conflicts || null)
    }`,
    reduce: 'function (keys, values, rereduce) { return rereduce ? sum(values) : values.length }',
  },
}

const QUESTIONS = [
  'number?reduce=false',
  'number?reduce=false&descending=true&limit=5&skip=3',
  'number',
  'words',
  'words?startkey="b"&endkey=["c",1]',
  'words?key="a"&include_docs=true&conflicts=true',
  'total?group_level=1',
  'total?group=true&descending=true',
  'total?startkey=[0,10]&endkey=[1,20]',
  'conflicts?reduce=false',
  'conflicts',
  'conflicts?group=true',
]

const randomBody = () => ({
  n: below(40),
  words: Array.from({ length: below(4) }, () => 'abcé'[below(4)]),
})

async function edit(server: TestServer): Promise<void> {
  const id = IDS[below(IDS.length)] as string
  const path = `/db/${encodeURIComponent(id)}`
  const current = await server.ask('GET', path)
  const rev = current.status === 200 ? (current.json as { _rev: string })._rev : undefined
  const choice = below(10)
  if (choice < 2 && rev !== undefined) await server.ask('DELETE', `${path}?rev=${rev}`)
  else if (choice < 4) {
    // A branch of its own: a conflict, sometimes a deleted one.
    const ids = Array.from({ length: 1 + below(2) }, () => hex())
    const _revisions = { start: ids.length, ids }
    const doc = {
      _id: id,
      _revisions,
      ...randomBody(),
      ...(below(3) === 0 ? { _deleted: true } : {}),
    }
    const body = { new_edits: false, docs: [{ ...doc, _rev: `${ids.length}-${ids[0]}` }] }
    await server.ask('POST', '/db/_bulk_docs', { body })
  } else if (choice === 4 && rev !== undefined) {
    await server.ask('POST', '/db/_purge', { body: { [id]: [rev] } })
  } else await server.ask('PUT', path, { body: { ...randomBody(), ...(rev ? { _rev: rev } : {}) } })
}

const hex = (): string =>
  Array.from({ length: 8 }, () => below(65536).toString(16).padStart(4, '0')).join('')

async function answers(server: TestServer, design: string): Promise<string[]> {
  const found: string[] = []
  for (const question of QUESTIONS) {
    const { status, text } = await server.ask(
      'GET',
      `/db/_design/${design}/_view/${encodeURI(question)}`,
    )
    assert.equal(status, 200, text)
    found.push(`${question}\n${text}`)
  }
  return found
}

interface Doc {
  readonly _id: string
  readonly _rev: string
  readonly n: number
}

/** What the first view must hold, from the documents themselves. */
async function modelOfNumbers(server: TestServer): Promise<unknown[]> {
  const { json } = await server.ask('GET', '/db/_all_docs?include_docs=true')
  const docs = (json as { rows: { doc: Doc }[] }).rows.map(({ doc }) => doc)
  return docs
    .filter(({ _id }) => !_id.startsWith('_design/'))
    .sort((a, b) => a.n - b.n || Buffer.compare(Buffer.from(a._id), Buffer.from(b._id)))
    .map(({ _id, _rev, n }) => ({ id: _id, key: n, value: _rev }))
}

test(`incremental indexes equal those built anew (GURNEY_SEED=${SEED})`, async () => {
  const server = await startServer()
  try {
    await server.ask('PUT', '/db')
    await server.ask('PUT', '/db/_design/kept', { body: { views: VIEWS } })
    for (let round = 0; round < ROUNDS; round++) {
      for (let count = below(EDITS); count >= 0; count--) await edit(server)
      // Another definition of the same rows: it has an index of its own.
      const views = { ...VIEWS, [`round${round}`]: { map: 'function () {}' } }
      const { status } = await server.ask('PUT', `/db/_design/fresh${round}`, { body: { views } })
      assert.equal(status, 201)
      const kept = await answers(server, 'kept')
      assert.deepEqual(kept, await answers(server, `fresh${round}`), `round ${round}`)
      const { json } = await server.ask('GET', '/db/_design/kept/_view/number?reduce=false')
      assert.deepEqual((json as { rows: unknown[] }).rows, await modelOfNumbers(server))
    }
  } finally {
    await server.close()
  }
})
