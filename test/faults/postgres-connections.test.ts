/**
 * Connections to PostgreSQL that are cut, delayed and lose answers while several processes' worth of engines write: every
 * write that was acknowledged is there once, and none is there twice, whether it was acknowledged or not.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { isFailure } from '../../src/base/errors.ts'
import type { Engine, Range } from '../../src/engine/engine.ts'
import { PostgresEngine } from '../../src/engine/postgres/postgres-engine.ts'
import { isOwnPostgres, startPostgres } from '../support/postgres.ts'
import { startTcpFaultProxy, type TcpFault } from '../support/tcp-fault-proxy.ts'

const postgres = await startPostgres()
after(() => postgres.stop())

const COUNTER = Buffer.from('counter')
const LOG: Range = { start: Buffer.from('log/'), end: Buffer.from('log0') }

/** Adds one to a counter and leaves a row that says who did: twice would show in both. */
async function addOne(engine: Engine, id: string): Promise<number> {
  return await engine.store('shared').write(function* (tx) {
    const value = Number((yield* tx.get(COUNTER)) ?? 0) + 1
    tx.put(COUNTER, Buffer.from(String(value)))
    tx.put(Buffer.from(`log/${String(value).padStart(8, '0')}`), Buffer.from(id))
    return value
  })
}

async function history(engine: Engine): Promise<string[]> {
  const ids: string[] = []
  for await (const rows of engine.store('shared').scan(LOG)) {
    for (const { value } of rows) ids.push(value.toString())
  }
  return ids
}

interface Acknowledged {
  readonly id: string
  readonly value: number
}

/** Writes one after the other; what failed is remembered by nobody. */
async function load(engine: Engine, count: number): Promise<Acknowledged[]> {
  const done: Acknowledged[] = []
  for (let each = 0; each < count; each++) {
    const id = randomBytes(8).toString('hex')
    try {
      done.push({ id, value: await addOne(engine, id) })
    } catch (thrown) {
      assert.ok(isFailure(thrown), `a Failure, not ${thrown}`)
    }
  }
  return done
}

async function checkHistory(engine: Engine, acknowledged: readonly Acknowledged[]): Promise<void> {
  const ids = await history(engine)
  assert.equal(new Set(ids).size, ids.length, 'no write is there twice')
  assert.equal(Number(await engine.store('shared').get(COUNTER)), ids.length)
  for (const { id, value } of acknowledged) {
    assert.equal(ids[value - 1], id, 'what was acknowledged is where it was said to be')
  }
}

function throughProxy(address: string, port: number): string {
  const url = new URL(address)
  url.host = `127.0.0.1:${port}`
  return url.href
}

describe('writes through connections that fail', () => {
  it('happen exactly once, whatever is cut, lost, delayed or arrives late', async () => {
    const faults: readonly TcpFault[] = ['lose', 'cut', 'delay', 'orphan']
    let turn = 0
    // Every fault in turn, at every place of a transaction: the steps are no multiple of each other.
    const choose = (): TcpFault => {
      turn++
      return turn % 7 === 0 ? (faults[(turn / 7) % faults.length] as TcpFault) : 'none'
    }
    const proxy = await startTcpFaultProxy(postgres, choose)
    const address = postgres.address()
    const plain = await PostgresEngine.open({ address })
    await plain.createStore('shared')
    const engines: PostgresEngine[] = []
    try {
      const acknowledged: Acknowledged[] = []
      for (let each = 0; each < 3; each++) engines.push(await openThrough(address, proxy.port))
      const loads = engines.flatMap(engine => Array.from({ length: 4 }, () => load(engine, 25)))
      loads.push(load(plain, 25))
      for (const done of await Promise.all(loads)) acknowledged.push(...done)
      await checkHistory(plain, acknowledged)
      assert.equal(acknowledged.length, 13 * 25, 'short failures are nobody’s business')
      for (const fault of faults) assert.ok(proxy.counts[fault] > 0, `${fault} happened`)
    } finally {
      for (const engine of engines) await engine.close()
      await plain.close()
      await proxy.close()
    }
  })

  it('outlive a server that restarts under them', { skip: !isOwnPostgres() }, async () => {
    const engine = await PostgresEngine.open({ address: postgres.address() })
    await engine.createStore('shared')
    const loads = Promise.all(Array.from({ length: 6 }, () => load(engine, 40)))
    await new Promise(resolve => setTimeout(resolve, 100))
    await postgres.restart()
    await new Promise(resolve => setTimeout(resolve, 100))
    await postgres.restart()
    const acknowledged = (await loads).flat()
    await checkHistory(engine, acknowledged)
    assert.equal(acknowledged.length, 240)
    await engine.close()
  })

  it('fail with one line when the server stays away', { skip: !isOwnPostgres() }, async () => {
    const address = postgres.address()
    const engine = await PostgresEngine.open({ address, retryMs: 300 })
    await engine.createStore('shared')
    await postgres.halt()
    try {
      await assert.rejects(addOne(engine, 'x'), unavailable)
      await assert.rejects(async () => engine.store('shared').get(COUNTER), unavailable)
      await assert.rejects(PostgresEngine.open({ address }), unavailable)
    } finally {
      await postgres.resume()
    }
    assert.equal(await addOne(engine, 'y'), 1)
    await engine.close()
  })

  it('do not show the password when it is wrong', async () => {
    const url = new URL(postgres.address())
    url.password = 'sesame-wrong'
    await assert.rejects(PostgresEngine.open({ address: url.href }), thrown => {
      assert.ok(isFailure(thrown, 'config_invalid'))
      assert.match(String(thrown.detail.reason), /^PostgreSQL at [^\n]*password/)
      assert.doesNotMatch(JSON.stringify([thrown.detail, thrown.stack]), /sesame/)
      return true
    })
  })
})

/** The way in is through the proxy as well, so opening may have to be tried again. */
async function openThrough(address: string, port: number): Promise<PostgresEngine> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await PostgresEngine.open({ address: throughProxy(address, port) })
    } catch (thrown) {
      if (attempt === 50) throw thrown
    }
  }
}

const unavailable = (thrown: unknown): boolean => {
  assert.ok(isFailure(thrown, 'service_unavailable'), String(thrown))
  assert.match(String(thrown.detail.reason), /^PostgreSQL at 127\.0\.0\.1:\d+\/postgres: [^\n]+$/)
  return true
}
