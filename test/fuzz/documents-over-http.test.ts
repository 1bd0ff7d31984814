/**
 * Random documents written in one of three ways and read back in four: the same JSON each time, numbers and the
 * order of members included. GURNEY_SEED repeats a run.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startServer } from '../support/start-server.ts'

const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000_000)
console.log(`documents over HTTP fuzz: GURNEY_SEED=${seed}`)
const RUN_MS = 2000

let state = seed | 0
/** From 0 to below `end`. */
function random(end: number): number {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * end)
}
const pick = <T>(items: readonly T[]): T => items[random(items.length)] as T

const LETTERS = ['a', 'Z', '0', ' ', 'é', '"', '\\', '\n', '\u0001', '\u2028', '😀', '/', '{']
const word = (): string => Array.from({ length: random(8) }, () => pick(LETTERS)).join('')
const NUMBERS = ['0', '-1', '17', '1.5', '1.0', '1e+21', '12345678901234567890123', '-0.25']

/** JSON text as the server would print it: compact, every key once. */
function randomText(depth: number): string {
  const kind = random(depth > 3 ? 4 : 6)
  if (kind === 0) return pick(['null', 'true', 'false'])
  if (kind === 1) return pick(NUMBERS)
  if (kind < 4) return JSON.stringify(word())
  if (kind === 4) return `[${Array.from({ length: random(4) }, () => randomText(depth + 1))}]`
  return randomObject(depth + 1)
}

function randomObject(depth: number): string {
  const keys = new Set(Array.from({ length: random(5) }, () => pick(['7', '10', `k${word()}`])))
  return `{${[...keys].map(key => `${JSON.stringify(key)}:${randomText(depth)}`).join(',')}}`
}

const server = await startServer({ dialect: 'couchdb' })
after(() => server.close())

const member = (text: string): string => (text === '{}' ? '' : `,${text.slice(1, -1)}`)

async function write(id: string, text: string): Promise<string> {
  const headers = { 'Content-Type': 'application/json' }
  const withId = `{"_id":${JSON.stringify(id)}${member(text)}}`
  switch (random(3)) {
    case 0: {
      const answer = await server.ask('PUT', `/db/${encodeURIComponent(id)}`, {
        body: text,
        headers,
      })
      assert.equal(answer.status, 201, answer.text)
      return (answer.json as { rev: string }).rev
    }
    case 1: {
      const answer = await server.ask('POST', '/db', { body: withId, headers })
      assert.equal(answer.status, 201, answer.text)
      return (answer.json as { rev: string }).rev
    }
    default: {
      const body = `{"docs":[${withId}]}`
      const answer = await server.ask('POST', '/db/_bulk_docs', { body, headers })
      const [item] = answer.json as { rev: string }[]
      assert.ok(item?.rev !== undefined, answer.text)
      return item.rev
    }
  }
}

test('a document comes back as it was written', async () => {
  await server.ask('PUT', '/db')
  const endMs = Date.now() + RUN_MS
  for (let number = 0; Date.now() < endMs; number++) {
    const id = `${word()}x${number}`
    const text = randomObject(0)
    const rev = await write(id, text)
    const expected = `{"_id":${JSON.stringify(id)},"_rev":"${rev}"${member(text)}}`
    const single = await server.ask('GET', `/db/${encodeURIComponent(id)}`)
    assert.equal(single.text, `${expected}\n`)
    const key = encodeURIComponent(JSON.stringify(id))
    const listed = await server.ask('GET', `/db/_all_docs?include_docs=true&key=${key}`)
    assert.ok(listed.text.includes(`"doc":${expected}}`), listed.text)
    const named = await server.ask('POST', '/db/_all_docs?include_docs=true', {
      body: { keys: [id] },
    })
    assert.ok(named.text.includes(`"doc":${expected}}`), named.text)
    const many = await server.ask('POST', '/db/_bulk_get', { body: { docs: [{ id }] } })
    assert.ok(many.text.includes(`{"ok":${expected}}`), many.text)
  }
})
