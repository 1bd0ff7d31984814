/**
 * The block index against a plain sorted array: after random batches of changes every scan, count,
 * offset, reduction and group of the index must be what the array says. GURNEY_SEED repeats a run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCollator } from '../../src/base/collate/collator.ts'
import { BlockIndex } from '../../src/core/indexing/block-index.ts'
import type { DocumentRows, EmittedRow } from '../../src/core/indexing/index-rows.ts'
import { NodeCache } from '../../src/core/indexing/node-store.ts'
import type { ReduceJob, Reducer } from '../../src/core/indexing/reducer.ts'
import type { RowSlice } from '../../src/core/indexing/row-block.ts'
import { afterKey } from '../../src/core/indexing/row-order.ts'
import type { GroupBounds } from '../../src/core/indexing/scan-groups.ts'
import type { PlaceRange } from '../../src/core/indexing/scan-rows.ts'
import { builtinReducer } from '../../src/core/view/builtin-reducers.ts'
import { MemoryEngine } from '../../src/engine/memory/memory-engine.ts'
import { NearStore } from '../support/near-store.ts'

const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000_000)
console.log(`view-index fuzz: GURNEY_SEED=${seed}`)
const collator = openCollator()
const stats = builtinReducer('_stats', collator, true)
const count = builtinReducer('_count', collator, true)

interface ModelRow {
  readonly id: string
  readonly keyText: string
  readonly valueText: string
  readonly place: Buffer
}

/** Sums numbers; `isFar` answers later, as a reducer in another process does. */
class SumReducer implements Reducer {
  readonly name: string
  readonly #isFar: boolean

  constructor(isFar: boolean) {
    this.#isFar = isFar
    this.name = isFar ? 'far sum' : 'sum'
  }

  reduce(jobs: readonly ReduceJob[]): Buffer[] | Promise<Buffer[]> {
    const results = jobs.map(job => Buffer.from(String(sumOf(job))))
    return this.#isFar ? Promise.resolve().then(() => results) : results
  }
}

/** Joins the ids of the first and the last row: wrong order or missing rows show. */
const spanReducer: Reducer = {
  name: 'span',
  reduce: jobs =>
    jobs.map(job => {
      if ('reductions' in job) {
        const first = String(job.reductions[0]).split('|')[0]
        return Buffer.from(`${first}|${String(job.reductions.at(-1)).split('|')[1]}`)
      }
      const { block, from, to } = job.rows
      return Buffer.from(`${block.idText(from)}|${block.idText(to - 1)}`)
    }),
}

function sumOf(job: ReduceJob): number {
  if ('reductions' in job) return job.reductions.reduce((sum, one) => sum + Number(one), 0)
  let sum = 0
  for (let row = job.rows.from; row < job.rows.to; row++)
    sum += Number(job.rows.block.valueText(row))
  return sum
}

class Fuzz {
  readonly random: () => number
  readonly index: BlockIndex
  readonly model = new Map<string, DocumentRows>()
  readonly reducers: readonly Reducer[] = [
    new SumReducer(false),
    new SumReducer(true),
    spanReducer,
    stats,
    count,
  ]
  readonly keyKind: number

  constructor(
    random: () => number,
    store: ReturnType<MemoryEngine['store']>,
    engine: MemoryEngine,
  ) {
    this.random = random
    this.keyKind = this.below(3)
    this.index = new BlockIndex({
      store: random() < 0.5 ? store : new NearStore(store),
      limits: {
        ...engine.limits,
        valueBytesMax: random() < 0.3 ? 300 : engine.limits.valueBytesMax,
      },
      collator,
      cache: new NodeCache(random() < 0.5 ? 2_000 : 1_000_000),
      trees: [
        { order: 'icu', reducers: this.reducers },
        { order: 'raw', reducers: [this.reducers[0] as Reducer] },
      ],
      sortBytesMax: random() < 0.5 ? 2_000 : 1_000_000,
      nodeBytes: { blockBytes: 150 + this.below(400), branchBytes: 200 + this.below(300) },
    })
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit)
  }

  batchMax(): number {
    return this.random() < 0.5 ? 1 + this.below(30) : 5_000
  }

  key(): string {
    const small = this.below(this.keyKind === 0 ? 6 : 60)
    if (this.keyKind === 2 || this.random() < 0.5) {
      return JSON.stringify([`k${this.below(5)}`, small, this.below(4)].slice(0, this.below(4)))
    }
    return this.random() < 0.5
      ? String(small - 10)
      : JSON.stringify('äbcDé"x'.slice(0, 1 + (small % 7)).repeat(1 + (small % 3)))
  }

  document(id: string): DocumentRows {
    const kind = this.random()
    const count = kind < 0.2 ? 0 : kind < 0.95 ? this.below(4) : this.below(60)
    const sameKey = this.random() < 0.1 ? this.key() : undefined
    const rows = (): EmittedRow[] =>
      Array.from({ length: count }, () => ({
        keyText: Buffer.from(sameKey ?? this.key()),
        valueText: Buffer.from(String(this.below(1000))),
      }))
    return { id, rows: [rows(), rows()] }
  }

  batch(count: number): DocumentRows[] {
    return Array.from({ length: count }, () => {
      const number = this.below(400)
      const id =
        number % 13 === 0 ? `q"\\${number}` : number % 7 === 0 ? `é${number}` : `d${number}`
      const known = this.model.get(id)
      const document = known !== undefined && this.random() < 0.2 ? known : this.document(id)
      this.model.set(id, document)
      return document
    })
  }

  rows(tree: number): ModelRow[] {
    const order = tree === 0 ? 'icu' : 'raw'
    const found: (ModelRow & { n: number })[] = []
    for (const { id, rows } of this.model.values()) {
      rows[tree]?.forEach(({ keyText, valueText }, n) => {
        const place = Buffer.concat([collator.sortKey(keyText, order), Buffer.from(id)])
        found.push({ id, keyText: String(keyText), valueText: String(valueText), place, n })
      })
    }
    return found.sort((one, two) => Buffer.compare(one.place, two.place) || one.n - two.n)
  }

  range(tree: number, rows: readonly ModelRow[]): PlaceRange {
    const order = tree === 0 ? 'icu' : 'raw'
    const bound = (): Buffer | undefined => {
      const kind = this.random()
      if (kind < 0.2) return undefined
      if (kind < 0.6 || rows.length === 0) return collator.sortKey(this.key(), order)
      const row = rows[this.below(rows.length)] as ModelRow
      return kind < 0.8 ? row.place : afterKey(collator.sortKey(row.keyText, order))
    }
    return { lower: bound(), upper: bound() }
  }

  async check(): Promise<void> {
    for (const tree of [0, 1]) {
      const rows = this.rows(tree)
      assert.equal((await this.index.info(tree)).rows, rows.length)
      await this.checkScan(tree, rows, [{}], 0, Number.MAX_SAFE_INTEGER)
      for (let i = 0; i < 8; i++) {
        const ranges = Array.from({ length: this.random() < 0.7 ? 1 : this.below(4) }, () =>
          this.range(tree, rows),
        )
        const skip = this.random() < 0.5 ? 0 : this.below(40)
        const limit = this.random() < 0.5 ? Number.MAX_SAFE_INTEGER : this.below(60)
        await this.checkScan(tree, rows, ranges, skip, limit)
        await this.checkReduce(tree, rows, this.range(tree, rows))
        await this.checkGroups(tree, rows, ranges, skip, limit)
      }
    }
  }

  async checkScan(
    tree: number,
    rows: ModelRow[],
    ranges: PlaceRange[],
    skip: number,
    limit: number,
  ): Promise<void> {
    const reverse = this.random() < 0.5
    const scan = await this.index.openScan(tree, {
      ranges,
      reverse,
      skip,
      limit,
      batchBytesMax: this.batchMax() * 50,
    })
    const got: string[] = []
    for await (const slices of scan.batches)
      for (const slice of slices) got.push(...textsOf(slice, reverse))
    const want = ranges
      .flatMap(range => ordered(within(rows, range), reverse))
      .slice(skip, skip + limit)
    assert.deepEqual(got, want.map(wireText))
    assert.equal(scan.total, rows.length)
    assert.equal(scan.offset, wantedOffset(rows, ranges[0], reverse, skip))
  }

  async checkReduce(tree: number, rows: ModelRow[], range: PlaceRange): Promise<void> {
    const inside = within(rows, range)
    for (const reducer of tree === 0 ? [0, 1, 2, 3, 4] : [0]) {
      const got = await this.index.reduceRange(tree, reducer, range)
      assert.equal(
        got === undefined ? undefined : shown(got, reducer),
        wantedReduction(inside, reducer),
      )
    }
  }

  async checkGroups(
    tree: number,
    rows: ModelRow[],
    ranges: PlaceRange[],
    skip: number,
    limit: number,
  ): Promise<void> {
    const reverse = this.random() < 0.5
    const level = this.below(3)
    const order = tree === 0 ? 'icu' : 'raw'
    const reducer = tree === 0 ? this.below(5) : 0
    const groupOf = (keyText: Buffer) => groupBounds(keyText, level, order)
    const got: string[] = []
    const options = { ranges, reverse, skip, limit, groupOf, batchGroupsMax: this.batchMax() }
    for await (const groups of this.index.reduceGroups(tree, reducer, options)) {
      got.push(...groups.map(({ keyText, reduction }) => `${keyText} ${shown(reduction, reducer)}`))
    }
    const want = ranges.flatMap(range => {
      const groups = new Map<string, ModelRow[]>()
      for (const row of within(rows, range)) {
        const name = groupOf(Buffer.from(row.keyText)).lower.toString('hex')
        groups.set(name, [...(groups.get(name) ?? []), row])
      }
      const list = [...groups.values()].map(group => {
        const named = group[reverse ? group.length - 1 : 0] as ModelRow
        return `${groupOf(Buffer.from(named.keyText)).keyText} ${wantedReduction(group, reducer)}`
      })
      return ordered(list, reverse)
    })
    assert.deepEqual(got, want.slice(skip, skip + limit))
  }
}

function groupBounds(keyText: Buffer, level: number, order: 'icu' | 'raw'): GroupBounds {
  const key = JSON.parse(String(keyText)) as unknown
  if (level > 0 && Array.isArray(key) && key.length >= level) {
    const cut = Buffer.from(JSON.stringify(key.slice(0, level)))
    const sortKey = collator.sortKey(cut, order)
    const lower = sortKey.subarray(0, sortKey.length - 1)
    return { keyText: cut, lower, upper: afterKey(lower) }
  }
  const lower = collator.sortKey(keyText, order)
  return { keyText, lower, upper: afterKey(lower) }
}

const wireText = (row: ModelRow) =>
  `{"id":${JSON.stringify(row.id)},"key":${row.keyText},"value":${row.valueText}}`

function textsOf({ block, from, to }: RowSlice, reverse: boolean): string[] {
  const texts = Array.from({ length: to - from }, (_, i) =>
    String(block.text(from + i, from + i + 1)),
  )
  assert.equal(String(block.text(from, to)), texts.join(',\r\n'))
  return ordered(texts, reverse)
}

const ordered = <T>(list: readonly T[], reverse: boolean): T[] =>
  reverse ? [...list].reverse() : [...list]

const within = (rows: readonly ModelRow[], { lower, upper }: PlaceRange): ModelRow[] =>
  rows.filter(
    ({ place }) =>
      (lower === undefined || Buffer.compare(place, lower) >= 0) &&
      (upper === undefined || Buffer.compare(place, upper) < 0),
  )

function wantedOffset(
  rows: readonly ModelRow[],
  range: PlaceRange | undefined,
  reverse: boolean,
  skip: number,
): number {
  if (range === undefined || rows.length === 0) return 0
  const outside = reverse
    ? rows.length - within(rows, { upper: range.upper }).length
    : rows.length - within(rows, { lower: range.lower }).length
  return Math.min(rows.length, outside + skip)
}

/** The builtin ones keep their reductions in a form of their own. */
function shown(reduction: Buffer, reducer: number): string {
  if (reducer < 3) return String(reduction)
  const value = (reducer === 3 ? stats : count).present(reduction)
  return 'valueText' in value ? String(value.valueText) : value.error
}

function wantedStats(values: readonly number[]): string {
  const add = (one: number, two: number) => one + two
  const sumsqr = values.map(value => value * value).reduce(add)
  const [min, max] = [Math.min(...values), Math.max(...values)]
  return JSON.stringify({ sum: values.reduce(add), count: values.length, min, max, sumsqr })
}

function wantedReduction(rows: readonly ModelRow[], reducer: number): string | undefined {
  if (rows.length === 0) return undefined
  if (reducer === 2) return `${JSON.stringify(rows[0]?.id)}|${JSON.stringify(rows.at(-1)?.id)}`
  if (reducer === 3) return wantedStats(rows.map(row => Number(row.valueText)))
  if (reducer === 4) return String(rows.length)
  return String(rows.reduce((sum, row) => sum + Number(row.valueText), 0))
}

for (let round = 0; round < 6; round++) {
  test(`random changes agree with a plain list, round ${round}, seed ${seed}`, async () => {
    const random = mulberry32(seed + round)
    const engine = new MemoryEngine()
    const fuzz = new Fuzz(random, await engine.createStore('index'), engine)
    const build = await fuzz.index.firstBuild(100)
    for (let seq = fuzz.below(40); seq > 0; seq--) {
      await build.add(fuzz.batch(fuzz.below(30)), { seq, purgeSeq: 0 })
    }
    await build.finish()
    await fuzz.check()
    for (let step = 1; step <= 8; step++) {
      const isPurge = random() < 0.15
      const documents = isPurge
        ? [...fuzz.model.keys()].map(id => ({ id, rows: [[], []] }))
        : fuzz.batch(1 + fuzz.below(random() < 0.5 ? 8 : 200))
      if (isPurge) fuzz.model.clear()
      await fuzz.index.update(documents, { seq: 100 + step, purgeSeq: 0 })
      await fuzz.check()
    }
    assert.equal((await fuzz.index.state())?.progress.seq, 108)
  })
}

function mulberry32(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
