/**
 * How fast is the block index on the embedded engine, and how large? Builds an index of 500,000
 * rows (--quick: 100,000) of the shape of a search view with `_count` and `_stats`, then scans,
 * looks up, reduces and updates it.
 *
 *     node --import tsx bench/view-index.bench.ts [--quick]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCollator } from '../src/base/collate/collator.ts'
import { BlockIndex } from '../src/core/indexing/block-index.ts'
import type { DocumentRows, EmittedRow } from '../src/core/indexing/index-rows.ts'
import { NodeCache } from '../src/core/indexing/node-store.ts'
import { builtinReducer } from '../src/core/view/builtin-reducers.ts'
import { reduceView } from '../src/core/view/reduce-rows.ts'
import { scanView } from '../src/core/view/scan-view.ts'
import { planViewQuery, type ViewQuery } from '../src/core/view/view-query.ts'
import { EmbeddedEngine } from '../src/engine/embedded/embedded-engine.ts'

const ROWS_PER_DOCUMENT = 5
const rowCount = process.argv.includes('--quick') ? 100_000 : 500_000
const documentCount = rowCount / ROWS_PER_DOCUMENT
const WORDS =
  'anna maria john peter kampala district hospital fever malaria visit follow antenatal'.split(' ')

let state = 12345
function below(limit: number): number {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0
  return Math.floor((state / 4294967296) * limit)
}

function hex(length: number): string {
  let text = ''
  while (text.length < length) text += below(65536).toString(16).padStart(4, '0')
  return text.slice(0, length)
}

function makeDocument(id: string): DocumentRows {
  const rows = Array.from({ length: ROWS_PER_DOCUMENT }, (): EmittedRow => {
    const word = `${WORDS[below(WORDS.length)]}${below(1000)}`
    const key = `["${word}","data_record ${1_600_000_000_000 + below(100_000_000)}"]`
    return { keyText: Buffer.from(key), valueText: Buffer.from(String(below(100))) }
  })
  return { id, rows: [rows] }
}

async function timed<T>(label: string, count: number, work: () => Promise<T>): Promise<T> {
  const cpuBefore = process.cpuUsage()
  const start = performance.now()
  const result = await work()
  const seconds = (performance.now() - start) / 1000
  const cpu = process.cpuUsage(cpuBefore)
  const rate = Math.round(count / seconds).toLocaleString('en')
  const cpuSeconds = ((cpu.user + cpu.system) / 1e6).toFixed(2)
  console.log(`${label.padEnd(44)} ${seconds.toFixed(3)} s  ${rate}/s  (cpu ${cpuSeconds} s)`)
  return result
}

const folder = mkdtempSync(join(tmpdir(), 'gurney-view-index-bench-'))
const engine = await EmbeddedEngine.open({ folder })
const collator = openCollator()
const count = builtinReducer('_count', collator, true)
const stats = builtinReducer('_stats', collator, true)
const newIndex = (cacheBytes: number, sortBytesMax: number) =>
  new BlockIndex({
    store: engine.store('index'),
    limits: engine.limits,
    collator,
    cache: new NodeCache(cacheBytes),
    trees: [{ order: 'icu', reducers: [count, stats] }],
    sortBytesMax,
    scratch: { open: () => engine.createStore('runs'), drop: () => engine.deleteStore('runs') },
  })

async function build(sortBytesMax: number): Promise<void> {
  const build = await newIndex(1, sortBytesMax).firstBuild(documentCount)
  for (let seq = 0; seq < documentCount; seq += 1000) {
    await build.add(documents.slice(seq, seq + 1000), { seq, purgeSeq: 0 })
  }
  await build.finish()
}

async function scan(index: BlockIndex, query: ViewQuery): Promise<number> {
  const plan = planViewQuery(
    { reduce: false, ...query },
    { order: index.order(0), hasReduce: true },
  )
  const { batches } = await scanView(index, 0, plan)
  let bytes = 0
  for await (const texts of batches) for (const text of texts) bytes += text.length
  return bytes
}

async function reduce(index: BlockIndex, query: ViewQuery): Promise<number> {
  const plan = planViewQuery(query, { order: index.order(0), hasReduce: true })
  let rows = 0
  const view = { index, tree: 0, reducerNumber: 1, reducer: stats }
  for await (const texts of (await reduceView(view, plan)).batches) rows += texts.length
  return rows
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const documents = Array.from({ length: documentCount }, () => makeDocument(hex(32)))
try {
  await engine.createStore('index')
  await timed(`build ${rowCount} rows in memory`, rowCount, () => build(1 << 30))
  await engine.deleteStore('index')
  await engine.createStore('index')
  await timed(`build ${rowCount} rows through runs of 16 MB`, rowCount, () => build(16 << 20))
  const size = await engine.store('index').size()
  console.log(
    `file ${(size.fileBytes / rowCount).toFixed(1)} bytes a row, live ${(size.liveBytes / rowCount).toFixed(1)}`,
  )
  const cold = newIndex(1, 1)
  const warm = newIndex(256 << 20, 1)
  const bytes = await timed('scan all rows, no cache', rowCount, () => scan(cold, {}))
  console.log(
    `  ${(bytes / 1e6).toFixed(1)} MB of rows, ${(bytes / rowCount).toFixed(1)} bytes a row on the wire`,
  )
  await timed('scan all rows, descending, no cache', rowCount, () =>
    scan(cold, { descending: true }),
  )
  for (const [name, index] of [
    ['no cache', cold],
    ['cached', warm],
  ] as const) {
    await timed(`key lookups, ${name}`, 5000, async () => {
      for (let i = 0; i < 5000; i++) {
        const keyText = documents[below(documentCount)]?.rows[0]?.[0]?.keyText
        await scan(index, { startKey: keyText, endKey: keyText })
      }
    })
    await timed(`_stats over a third, ${name}`, 2000, async () => {
      for (let i = 0; i < 2000; i++) {
        const start = json([`f${below(9)}`])
        await reduce(index, { startKey: start, endKey: json(['m', {}]) })
      }
    })
  }
  const groups = await timed('group_level=1', 1, () => reduce(cold, { groupLevel: 1 }))
  const exact = await timed('group=true', 1, () => reduce(cold, { group: true }))
  console.log(`  ${groups} and ${exact} groups`)
  for (const batch of [1, 100, 1000]) {
    await timed(
      `update ${batch} documents a batch, scattered`,
      Math.min(2000, batch * 50),
      async () => {
        for (let done = 0; done < Math.min(2000, batch * 50); done += batch) {
          const changed = Array.from({ length: batch }, () =>
            makeDocument((documents[below(documentCount)] as DocumentRows).id),
          )
          await warm.update(changed, { seq: documentCount + done, purgeSeq: 0 })
        }
      },
    )
  }
  const after = await engine.store('index').size()
  console.log(
    `after updates: file ${(after.fileBytes / rowCount).toFixed(1)} bytes a row, live ${(after.liveBytes / rowCount).toFixed(1)}`,
  )
  console.log(
    `peak memory ${Math.round(process.resourceUsage().maxRSS / 1024)} MB (documents of the bench included)`,
  )
} finally {
  await engine.close()
  rmSync(folder, { recursive: true, force: true })
}
