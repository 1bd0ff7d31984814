import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { openCollator } from '../../../../../src/base/collate/collator.ts'
import { Log } from '../../../../../src/base/log.ts'
import { BlockIndex } from '../../../../../src/core/indexing/block-index.ts'
import type { TaskTree } from '../../../../../src/core/indexing/first-build/build-task.ts'
import {
  type BuildThreads,
  startThreads,
} from '../../../../../src/core/indexing/first-build/build-threads.ts'
import type { StartThreads } from '../../../../../src/core/indexing/first-build/run-tasks.ts'
import type { DocumentRows } from '../../../../../src/core/indexing/index-rows.ts'
import { NodeCache } from '../../../../../src/core/indexing/node-store.ts'
import type { Store } from '../../../../../src/engine/engine.ts'
import { MemoryEngine } from '../../../../../src/engine/memory/memory-engine.ts'
import { counter, emittedRow as row } from '../../../../support/index-rows.ts'

const collator = openCollator()
const PROGRAM = new URL('../../../../support/build-thread.mjs', import.meta.url)

const TREES = [
  { order: 'icu', reducers: [counter] },
  { order: 'raw', reducers: [] },
  { order: 'icu', reducers: [counter], partitioned: true },
] as const

const REFERENCES: TaskTree = {
  position: undefined,
  order: 'id',
  isPartitioned: false,
  hasReducers: false,
}

interface Made {
  readonly index: BlockIndex
  /** Threads that were started; undefined where that failed. */
  readonly started: (BuildThreads | undefined)[]
  readonly warnings: string[]
}

function makeIndex(store: Store, sortBytesMax: number, program: URL | undefined): Made {
  const started: (BuildThreads | undefined)[] = []
  const warnings: string[] = []
  const sink = { write: (line: string) => void warnings.push(line) }
  const log = new Log({ level: 'debug', format: 'text', sink })
  const start: StartThreads | undefined =
    program &&
    (async countMax => {
      const threads = await startThreads({ program, count: Math.min(2, countMax) }, log)
      started.push(threads)
      return threads
    })
  const index = new BlockIndex({
    store,
    limits: new MemoryEngine().limits,
    collator,
    trees: TREES,
    cache: new NodeCache(1_000_000),
    sortBytesMax,
    startThreads: start,
    nodeBytes: { blockBytes: 300, branchBytes: 500 },
  })
  return { index, started, warnings }
}

/** Two texts of one number: their rows lie among each other. */
const one = (number: number) => ({
  keyText: Buffer.from(number % 2 === 0 ? '1' : '1.0'),
  valueText: Buffer.from(String(number)),
})

/** Some have letters that JSON escapes, which sort as what they are. */
const idOf = (number: number): string =>
  `p${number % 3}:${['', '\n', '"', '\\', 'é'][number % 11] ?? 'x'}${String(number).padStart(4, '0')}`

/** Some documents come again in a later batch, with other rows or none. */
function batches(): DocumentRows[][] {
  return Array.from({ length: 12 }, (_, batch) =>
    Array.from({ length: 80 }, (_, i) => {
      const number = (batch * 70 + i) % 700
      const isGone = batch > 8 && i % 7 === 0
      const words = isGone ? [] : [`w${(number * 7 + batch) % 31}`, `é${number % 5}`, `w${i % 31}`]
      return {
        id: idOf(number),
        rows: [
          [...words.map(word => row([word], number)), ...(isGone ? [] : [one(number)])],
          words.map(word => row(word, { text: 'the same words again and again', number })),
          words.slice(0, 1).map(word => row(word, null)),
        ],
      }
    }),
  )
}

/** Tells how much of it was spilled to runs. */
async function build(index: BlockIndex): Promise<number> {
  const work = await index.firstBuild(12)
  try {
    for (const [at, documents] of batches().entries()) {
      await work.add(documents, { seq: at + 1, purgeSeq: 0 })
    }
    const { seq } = work.savedProgress
    await work.finish()
    return seq
  } finally {
    await work.close()
  }
}

async function everythingIn(index: BlockIndex): Promise<unknown> {
  const trees: unknown[] = []
  for (const tree of TREES.keys()) {
    const scan = await index.openScan(tree, {
      ranges: [{}],
      reverse: false,
      skip: 0,
      limit: Number.MAX_SAFE_INTEGER,
    })
    const texts: string[] = []
    for await (const slices of scan.batches) {
      for (const { block, from, to } of slices) texts.push(String(block.text(from, to)))
    }
    trees.push({ total: scan.total, rows: texts.join(',\r\n') })
  }
  return [...trees, String(await index.reduceRange(0, 0, {}))]
}

describe('threads build what one thread builds', () => {
  const sizes = { 'all in memory': 600_000, 'in sorted runs': 40_000, 'in many runs': 2000 }
  for (const [name, sortBytesMax] of Object.entries(sizes)) {
    test(name, async () => {
      const engine = new MemoryEngine()
      const alone = makeIndex(await engine.createStore('one'), 10_000_000, undefined)
      assert.equal(await build(alone.index), 0)
      const many = makeIndex(await engine.createStore('two'), sortBytesMax, PROGRAM)
      assert.equal((await build(many.index)) > 0, name !== 'all in memory')
      assert.equal(many.started.length, 1)
      assert.deepEqual(await everythingIn(many.index), await everythingIn(alone.index))
      // The back references are right too: without them old rows would stay.
      for (const { index } of [alone, many]) {
        const changed = Array.from({ length: 700 }, (_, i) => ({
          id: idOf(i),
          rows: i % 2 === 0 ? [[], [], []] : [[row('new', i)], [], []],
        }))
        await index.update(changed, { seq: 20, purgeSeq: 0 })
      }
      const after = await everythingIn(many.index)
      assert.deepEqual(after, await everythingIn(alone.index))
      assert.equal((after as string[]).at(-1), '350')
    })
  }
})

test('a small build starts none', async () => {
  const store = await new MemoryEngine().createStore('i')
  const { index, started } = makeIndex(store, 100_000_000, PROGRAM)
  await build(index)
  assert.equal(started.length, 0)
})

test('where threads cannot run the index is built without them', async () => {
  const store = await new MemoryEngine().createStore('i')
  const broken = new URL('data:text/javascript,throw new Error("no such luck")')
  const { index, started, warnings } = makeIndex(store, 600_000, broken)
  await build(index)
  assert.deepEqual(started, [undefined])
  assert.match(warnings.join(), /^[^,]*an index is built without threads.*no such luck/)
  assert.equal((await index.state())?.phase, 'ready')
})

test('a thread that dies at work fails the build, and the next one succeeds', async () => {
  const store = await new MemoryEngine().createStore('i')
  const program = `
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', () => { throw new Error('no such luck') })
    parentPort.postMessage({ kind: 'ready' })`
  const mortal = new URL(`data:text/javascript,${encodeURIComponent(program)}`)
  await assert.rejects(build(makeIndex(store, 600_000, mortal).index), /no such luck/)
  const again = makeIndex(store, 600_000, PROGRAM)
  assert.equal((await again.index.state())?.phase, 'building')
  await build(again.index)
  assert.equal((await again.index.state())?.phase, 'ready')
})

test('a store that fails fails the build, and no thread is left', async () => {
  const store = await new MemoryEngine().createStore('i')
  const { index, started } = makeIndex(store, 40_000, PROGRAM)
  const work = await index.firstBuild(12)
  const write = store.write.bind(store)
  let writes = 0
  store.write = ((...given: Parameters<Store['write']>) => {
    if (++writes === 3) return Promise.reject(new Error('the disk is full'))
    return write(...given)
  }) as Store['write']
  await assert.rejects(async () => {
    for (const [at, documents] of batches().entries()) {
      await work.add(documents, { seq: at + 1, purgeSeq: 0 })
    }
    await work.finish()
  }, /the disk is full/)
  await work.close()
  await assert.rejects(
    started[0]?.run({ kind: 'merge', tree: REFERENCES, runs: [] }, {}) ?? Promise.resolve(),
    /ended|full/,
  )
})

test('a task that failed has ended when all that was begun with its pieces has', async () => {
  const program = `
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', () => {
      const bytes = new ArrayBuffer(8)
      parentPort.postMessage({ kind: 'stretches', chunk: bytes }, [bytes])
      setTimeout(() => { throw new Error('no such luck') }, 20)
    })
    parentPort.postMessage({ kind: 'ready' })`
  const mortal = new URL(`data:text/javascript,${encodeURIComponent(program)}`)
  const log = new Log({ level: 'none', format: 'text', sink: { write: () => {} } })
  const threads = await startThreads({ program: mortal, count: 1 }, log)
  let isWritten = false
  const write = async (): Promise<void> => {
    await delay(200)
    isWritten = true
  }
  const plan = { kind: 'merge', tree: REFERENCES, runs: [] } as const
  await assert.rejects(
    threads?.run(plan, { stretches: write }) ?? Promise.resolve(),
    /no such luck/,
  )
  assert.equal(isWritten, true)
  await threads?.close()
})
