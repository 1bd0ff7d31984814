/**
 * Who compacts a database: at most one process at a time, of all that share the store. The lease ends by itself when
 * its owner has died; while the owner lives it is renewed.
 */
import { randomBytes } from 'node:crypto'
import type { Store } from '../../engine/engine.ts'
import { COMPACTION } from './keyspace.ts'

const LEASE_MS = 30_000

interface Lease {
  readonly owner: string
  readonly untilMs: number
}

export async function isCompacting(store: Store, nowMs: number): Promise<boolean> {
  const bytes = await store.get(COMPACTION)
  return bytes !== undefined && decode(bytes).untilMs > nowMs
}

/** Runs the work while nobody else does. False: somebody else does. */
export async function underCompactionLease(
  store: Store,
  clock: () => number,
  work: () => Promise<void>,
): Promise<boolean> {
  const owner = randomBytes(8).toString('hex')
  if (!(await claim(store, owner, clock))) return false
  // A renewal that fails shows in the work itself, which uses the same store.
  const timer = setInterval(() => void claim(store, owner, clock).catch(() => {}), LEASE_MS / 3)
  timer.unref()
  try {
    await work()
  } finally {
    clearInterval(timer)
    // Not to be able to release it is no worse than to wait for its end: it runs out.
    await release(store, owner).catch(() => {})
  }
  return true
}

function claim(store: Store, owner: string, clock: () => number): Promise<boolean> {
  return store.write(function* (tx) {
    const nowMs = clock()
    const bytes = yield* tx.get(COMPACTION)
    const held = bytes === undefined ? undefined : decode(bytes)
    if (held !== undefined && held.owner !== owner && held.untilMs > nowMs) return false
    const lease: Lease = { owner, untilMs: nowMs + LEASE_MS }
    tx.put(COMPACTION, Buffer.from(JSON.stringify(lease)))
    return true
  })
}

function release(store: Store, owner: string): Promise<void> {
  return store.write(function* (tx) {
    const bytes = yield* tx.get(COMPACTION)
    if (bytes !== undefined && decode(bytes).owner === owner) tx.delete(COMPACTION)
  })
}

const decode = (bytes: Buffer): Lease => JSON.parse(bytes.toString()) as Lease
