/** Counts of live ids by stretches against the ids themselves, after commits of random and of growing ids and deletions. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { countStretches, IdCountChanges } from '../../src/core/database/id-counts.ts'
import { documentKey, idBytesOfKey } from '../../src/core/database/keyspace.ts'
import type { Steps, Store, WriteTx } from '../../src/engine/engine.ts'
import { MemoryEngine } from '../../src/engine/memory/memory-engine.ts'

const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000)

/** A small generator of numbers below one, the same for the same seed. */
function randomFrom(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const bytesOf = (id: string): Buffer => idBytesOfKey(documentKey(id))

it(`add up to the live ids, seed ${seed}`, async () => {
  const random = randomFrom(seed)
  const store = await new MemoryEngine().createStore('counts')
  const live = new Set<string>()
  for (let round = 0; round < 120; round++) {
    await commit(store, live, changesOf(random, live, round))
  }
  const stretches = await store.read(countStretches)
  const ids = [...live].map(bytesOf).sort(Buffer.compare)
  assert.ok(stretches.length > 5, `${stretches.length} stretches`)
  for (const [at, { start, count }] of stretches.entries()) {
    const end = stretches[at + 1]?.start
    const own = ids.filter(
      id => Buffer.compare(id, start) >= 0 && (!end || Buffer.compare(id, end) < 0),
    )
    assert.equal(count, own.length, `stretch ${at}`)
  }
})

function changesOf(random: () => number, live: Set<string>, round: number): Map<string, 1 | -1> {
  const changes = new Map<string, 1 | -1>()
  const isGrowing = random() < 0.3
  const count = 1 + random() * 250
  for (let n = 0; n < count; n++) {
    const id = isGrowing
      ? `zz${String(round).padStart(5, '0')}-${String(n).padStart(4, '0')}`
      : Math.floor(random() * 1e9).toString(36)
    if (!live.has(id)) changes.set(id, 1)
  }
  for (const id of live) if (random() < 0.01 && !changes.has(id)) changes.set(id, -1)
  return changes
}

async function commit(
  store: Store,
  live: Set<string>,
  changes: ReadonlyMap<string, 1 | -1>,
): Promise<void> {
  for (const [id, amount] of changes) amount > 0 ? live.add(id) : live.delete(id)
  const liveIds = [...live].map(bytesOf).sort(Buffer.compare)
  await store.write(function* (tx: WriteTx): Steps<void> {
    const counts = new IdCountChanges()
    for (const [id, amount] of changes) {
      counts.add(bytesOf(id), amount)
      if (amount > 0) tx.put(documentKey(id), Buffer.of(0, 0))
      else tx.delete(documentKey(id))
    }
    yield* counts.apply(tx, function* (start, end): Steps<Buffer[]> {
      return liveIds.filter(
        id => Buffer.compare(id, start) >= 0 && (!end || Buffer.compare(id, end) < 0),
      )
    })
  })
}
