/**
 * Three databases on two servers, random edits in each and random replications between them: in the end, when everybody
 * has replicated with everybody, all three are equal, conflicts, deletions and attachments included.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  contentsOf,
  type ReplicationServer,
  startReplicationServer,
} from '../support/replication-pair.ts'

const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000)
const ROUNDS = 3
const STEPS = 60

let here: ReplicationServer
let there: ReplicationServer
before(async () => {
  here = await startReplicationServer({ settings: { replicator: { worker_batch_size: '3' } } })
  there = await startReplicationServer({
    dialect: 'couchdb',
    settings: { couchdb: { default_security: 'everyone' } },
  })
})
after(async () => {
  await here.close()
  await there.close()
})

function randomFrom(start: number): (below: number) => number {
  let state = start >>> 0 || 1
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 4294967296) * below)
  }
}

describe(`replication between three databases (GURNEY_SEED=${seed})`, () => {
  for (let round = 0; round < ROUNDS; round++) {
    it(`ends with all of them equal (${round})`, async () => {
      const random = randomFrom(seed + round)
      const places = [
        { server: here, name: `a${round}` },
        { server: here, name: `b${round}` },
        { server: there, name: `c${round}` },
      ]
      for (const { server, name } of places) await server.make(name)
      const place = () => places[random(places.length)] as (typeof places)[0]
      for (let step = 0; step < STEPS; step++) {
        if (random(5) === 0) await replicate(place(), place(), random)
        else await edit(place(), random)
      }
      for (let pass = 0; pass < 2; pass++) {
        for (const from of places) for (const to of places) await replicate(from, to, random)
      }
      const [a, b, c] = await Promise.all(places.map(each => contentsOf(each.server, each.name)))
      assert.deepEqual(b, a)
      assert.deepEqual(c, a)
    })
  }
})

type Place = { readonly server: ReplicationServer; readonly name: string }

async function replicate(from: Place, to: Place, random: (below: number) => number): Promise<void> {
  if (from === to) return
  const isLocal = from.server === here && random(2) === 0
  const source = isLocal ? from.name : from.server.url(from.name)
  const target = to.server === here && random(2) === 0 ? to.name : to.server.url(to.name)
  const answer = await here.replicate({ source, target })
  assert.equal(answer.status, 200, answer.text)
}

/** Creates, changes or deletes a leaf of one of a few documents; often enough, of another leaf than the winner. */
async function edit({ server, name }: Place, random: (below: number) => number): Promise<void> {
  const id = random(12) === 0 ? '_design/d' : `d${random(6)}`
  const open = await server.ask('GET', `/${name}/${id}?open_revs=all`)
  const leaves =
    open.status === 200
      ? (open.json as { ok: { _rev: string; _deleted?: boolean; _attachments?: object } }[])
      : []
  const leaf = leaves[random(Math.max(1, leaves.length))]?.ok
  const rev = leaf === undefined || leaf._deleted ? {} : { _rev: leaf._rev }
  if ('_rev' in rev && random(5) === 0) {
    await server.ask('DELETE', `/${name}/${id}?rev=${rev._rev}`)
    return
  }
  const data = Buffer.alloc(random(3000), `${random(9)}`).toString('base64')
  const content_type = random(2) === 0 ? 'text/plain' : 'image/png'
  const added = random(3) === 0 ? { [`f${random(3)}`]: { content_type, data } } : {}
  const kept = '_rev' in rev && random(3) > 0 ? leaf?._attachments : undefined
  const files = { ...kept, ...added }
  const body = {
    ...rev,
    n: random(1000),
    ...(Object.keys(files).length > 0 ? { _attachments: files } : {}),
  }
  await server.ask('PUT', `/${name}/${id}`, body)
}
