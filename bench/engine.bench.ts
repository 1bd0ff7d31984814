/**
 * How fast is the engine? Gets, scans, durable writes, opening a large store, many small stores.
 *
 *   node --import tsx bench/engine.bench.ts [--quick]
 *
 * Prints one table; figures of a busy machine move by a factor of two, ratios are what to read.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { CheckedEngine } from '../src/engine/checked-engine.ts'
import { EmbeddedEngine } from '../src/engine/embedded/embedded-engine.ts'
import type { Range, Store } from '../src/engine/engine.ts'
import { MeteredEngine } from '../src/engine/metered-engine.ts'

const quick = process.argv.includes('--quick')
const ROWS = quick ? 20_000 : 200_000
const RUN_MS = quick ? 300 : 1500
const SMALL_STORES = quick ? 300 : 5000
const LARGE_BYTES = quick ? 32 * 1024 * 1024 : 1024 * 1024 * 1024
const ALL: Range = { start: Buffer.alloc(0), end: Buffer.alloc(64, 0xff) }

const key = (number: number): Buffer => Buffer.from(`row:${String(number).padStart(28, '0')}`)
const scattered = (number: number): Buffer => key((number * 7919) % 1_000_003)
const value = Buffer.alloc(200, 0x61)

const results: [string, string][] = []
const report = (name: string, figure: number, unit: string): void => {
  const rounded = figure >= 100 ? Math.round(figure).toLocaleString('en') : figure.toFixed(2)
  const text = `${rounded} ${unit}`
  results.push([name, text])
  console.log(`${name.padEnd(52)} ${text}`)
}

/** Runs `step` for a while; resolves to what it counted per second. */
async function perSecond(step: (turn: number) => Promise<number>): Promise<number> {
  await step(0)
  const startMs = performance.now()
  let counted = 0
  for (let turn = 1; performance.now() - startMs < RUN_MS; turn++) counted += await step(turn)
  return (counted * 1000) / (performance.now() - startMs)
}

async function fill(store: Store, count: number): Promise<void> {
  for (let from = 0; from < count; from += 5000) {
    await store.write(function* (tx) {
      for (let i = from; i < Math.min(from + 5000, count); i++) tx.put(key(i), value)
    })
  }
}

async function benchReads(store: Store, name: string): Promise<void> {
  const keys = Array.from({ length: 1000 }, (_, i) => key((i * 7919) % ROWS))
  const gets = async () => {
    for (const each of keys) await store.get(each)
    return keys.length
  }
  report(`get, ${name}`, await perSecond(gets), 'gets/s')
}

async function benchScans(store: Store): Promise<void> {
  report(
    'get, 100 in one read',
    await perSecond(async turn => {
      const keys = Array.from({ length: 100 }, (_, i) => key(((turn * 100 + i) * 7919) % ROWS))
      await store.read(tx => tx.getMany(keys))
      return 100
    }),
    'gets/s',
  )
  for (const keysOnly of [false, true]) {
    report(
      keysOnly ? 'scan, keys only' : 'scan',
      await perSecond(async () => {
        let rows = 0
        for await (const batch of store.scan(ALL, { keysOnly, limit: 20_000 })) rows += batch.length
        return rows
      }),
      'rows/s',
    )
  }
}

async function benchWrites(store: Store): Promise<void> {
  let next = 0
  const write = (count: number, keyOf: (number: number) => Buffer) =>
    store.write(function* (tx) {
      for (let i = 0; i < count; i++) tx.put(keyOf(next++), value)
    })
  for (const batch of [1, 10, 100, 1000]) {
    for (const [order, keyOf] of [
      ['ascending', key],
      ['scattered', scattered],
    ] as const) {
      const rows = await perSecond(async () => {
        await write(batch, keyOf)
        return batch
      })
      report(`durable write, ${order} keys, batches of ${batch}`, rows, 'rows/s')
    }
  }
  const together = await perSecond(async () => {
    await Promise.all(Array.from({ length: 64 }, () => write(1, scattered)))
    return 64
  })
  report('durable write, scattered keys, 64 at once', together, 'rows/s')
}

async function benchLarge(folder: string): Promise<void> {
  let engine = await EmbeddedEngine.open({ folder })
  let store = await engine.createStore('large')
  const body = Buffer.alloc(4000, 0x62)
  const count = Math.floor(LARGE_BYTES / 4096)
  for (let from = 0; from < count; from += 4000) {
    await store.write(function* (tx) {
      for (let i = from; i < from + 4000; i++) tx.put(key(i), body)
    })
  }
  const { fileBytes } = await store.size()
  await engine.close()
  let startMs = performance.now()
  engine = await EmbeddedEngine.open({ folder })
  store = engine.store('large')
  await store.get(key(5))
  report(
    `open a store of ${Math.round(fileBytes / 2 ** 20)} MiB and read`,
    performance.now() - startMs,
    'ms',
  )
  startMs = performance.now()
  await store.compact()
  report('compact it', performance.now() - startMs, 'ms')
  await engine.deleteStore('large')
  await engine.close()
}

async function benchSmall(folder: string): Promise<void> {
  const engine = await EmbeddedEngine.open({ folder })
  const ids = Array.from({ length: SMALL_STORES }, (_, i) => `small${i}`)
  const beforeBytes = process.memoryUsage.rss()
  const timed = async (name: string, each: (id: string) => Promise<unknown>) => {
    const startMs = performance.now()
    for (const id of ids) await each(id)
    report(name, (performance.now() - startMs) / ids.length, 'ms each')
  }
  await timed(`create ${SMALL_STORES} stores`, id => engine.createStore(id))
  await timed('open and write three rows in each', id =>
    engine.store(id).write(function* (tx) {
      for (let i = 0; i < 3; i++) tx.put(key(i), value)
    }),
  )
  await timed('open and read one row of each', async id => engine.store(id).get(key(1)))
  const startMs = performance.now()
  await engine.listStores()
  report('list them', performance.now() - startMs, 'ms')
  report('memory more than before', (process.memoryUsage.rss() - beforeBytes) / 2 ** 20, 'MiB')
  report('files open', engine.openStoreCount, '')
  await engine.close()
}

const folder = await mkdtemp(path.join(os.tmpdir(), 'gurney-bench-'))
try {
  const engine = await EmbeddedEngine.open({ folder })
  const store = await engine.createStore('bench')
  await fill(store, ROWS)
  const checked = new CheckedEngine(engine)
  const metered = new MeteredEngine(checked)
  for (let round = 0; round < 2; round++) {
    await benchReads(store, 'bare')
    await benchReads(checked.store('bench'), 'checked')
    await benchReads(metered.store('bench'), 'checked and metered')
  }
  await benchScans(store)
  await benchWrites(store)
  await engine.close()
  await benchSmall(folder)
  await benchLarge(folder)
  console.log(`\n${results.map(row => `| ${row.join(' | ')} |`).join('\n')}`)
} finally {
  await rm(folder, { recursive: true, force: true })
}
