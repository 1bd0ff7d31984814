/**
 * What `$text` finds is what looking through all documents finds: random texts of few words, random queries of terms,
 * phrases, prefixes and clauses, with many documents so that lists of terms are longer than a block.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRandom, type Random } from '../support/random-selectors.ts'
import { startServer } from '../support/start-server.ts'

const seed = Number(process.env.GURNEY_SEED ?? Math.floor(Math.random() * 2 ** 31))
const QUERY_COUNT = 120
const DOCUMENT_COUNT = 3000
const WORDS = ['ape', 'apex', 'bee', 'cat', 'caterpillar', 'dog', 'eel', 'élan', '犬', 'zzz']

interface Query {
  readonly text: string
  matches(words: readonly string[]): boolean
}

const term = (word: string): Query => ({ text: word, matches: words => words.includes(word) })

function phrase(list: readonly string[]): Query {
  const matches = (words: readonly string[]) =>
    words.some((_, at) => list.every((word, offset) => words[at + offset] === word))
  return { text: `"${list.join(' ')}"`, matches }
}

const prefix = (start: string): Query => ({
  text: `${start}*`,
  matches: words => words.some(word => word.startsWith(start)),
})

function clauses(random: Random, depth: number): Query {
  const parts = Array.from({ length: 1 + random.below(3) }, () => randomQuery(random, depth + 1))
  const signs = parts.map(() => random.pick(['', '', '+', '-']))
  const of = (sign: string) => parts.filter((_, at) => signs[at] === sign)
  return {
    text: `(${parts.map(({ text }, at) => `${signs[at]}${text}`).join(' ')})`,
    matches: words => {
      const must = of('+')
      const should = of('')
      if (of('-').some(part => part.matches(words))) return false
      if (must.length > 0) return must.every(part => part.matches(words))
      return should.some(part => part.matches(words))
    },
  }
}

function randomQuery(random: Random, depth = 0): Query {
  const kind = random.below(depth > 2 ? 3 : 5)
  if (kind === 0) return prefix(random.pick(['a', 'ap', 'cat', 'é', 'x']))
  if (kind === 1) {
    return phrase(Array.from({ length: 2 + random.below(2) }, () => random.pick(WORDS)))
  }
  return kind === 2 ? term(random.pick(WORDS)) : clauses(random, depth)
}

test(`$text finds what is there, seed ${seed}`, async () => {
  const random = makeRandom(seed)
  const server = await startServer()
  try {
    await server.ask('PUT', '/db')
    const rare = () => (random.chance(0.9) ? WORDS.slice(0, -1) : WORDS)
    const docs = Array.from({ length: DOCUMENT_COUNT }, (_, n) => ({
      _id: `doc ${n}`,
      t: Array.from({ length: random.below(6) }, () => random.pick(rare())).join(' '),
    }))
    await server.ask('POST', '/db/_bulk_docs', { body: { docs } })
    await server.ask('POST', '/db/_index', { body: { type: 'text', ddoc: 't', index: {} } })
    for (let n = 0; n < QUERY_COUNT; n++) {
      const query = randomQuery(random)
      const body = { selector: { $text: query.text }, limit: 10_000, fields: ['_id'] }
      const { json } = await server.ask('POST', '/db/_find', { body })
      const found = (json as { docs: { _id: string }[] }).docs.map(({ _id }) => _id)
      const expected = docs.filter(({ t }) => query.matches(t.split(' '))).map(({ _id }) => _id)
      assert.deepEqual(found.toSorted(), expected.toSorted(), `${query.text} seed ${seed}`)
    }
  } finally {
    await server.close()
  }
})
