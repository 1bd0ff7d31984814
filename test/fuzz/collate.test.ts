/**
 * Sort keys against two other authorities: Intl.Collator (the order of random pairs of normalised
 * text) and ICU itself (the bytes of ASCII keys made in JavaScript). GURNEY_SEED repeats a run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AsciiWeights } from '../../src/base/collate/ascii-weights.ts'
import { openCollator } from '../../src/base/collate/collator.ts'
import { openIcuCollator } from '../../src/base/collate/icu.ts'
import { KeyWriter } from '../../src/base/collate/key-writer.ts'

const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000_000)
const random = mulberry32(seed)
console.log(`collate fuzz: GURNEY_SEED=${seed}`)

const ALPHABETS: readonly (() => number)[] = [
  () => between(0x20, 0x7e),
  () => between(0x00, 0x7f),
  () => between(0x61, 0x66),
  () => between(0xc0, 0x24f),
  () => between(0x410, 0x44f),
  () => between(0x3041, 0x30fa),
  () => between(0x4e00, 0x9fa5),
  () => between(0xac00, 0xd7a3),
  () => between(0x1f300, 0x1f64f),
  () => between(0x391, 0x3c9),
  () => between(0x20000, 0x2a6d6),
]

test('pairs sort as Intl.Collator sorts them', () => {
  const collator = openCollator()
  const intl = new Intl.Collator('en')
  for (let round = 0; round < 60_000; round++) {
    const left = randomText()
    const right =
      random() < 0.3 ? left + randomText() : random() < 0.3 ? shuffleCase(left) : randomText()
    const want = Math.sign(intl.compare(left, right))
    const got = Math.sign(collator.compare(JSON.stringify(left), JSON.stringify(right)))
    assert.equal(got, want, `${JSON.stringify(left)} and ${JSON.stringify(right)}, seed ${seed}`)
  }
})

test('ASCII keys made in JavaScript are the bytes of ICU', () => {
  const icu = openIcuCollator()
  const scratch = Buffer.alloc(8192)
  const keyOf = (text: string) => Buffer.from(scratch.subarray(0, icu.sortKeyInto(text, scratch)))
  const weights = new AsciiWeights(keyOf)
  const out = new KeyWriter()
  for (let round = 0; round < 40_000; round++) {
    const length = random() < 0.05 ? between(0, 600) : between(0, 40)
    const low = random() < 0.5 ? 0x61 : 0
    const text = String.fromCharCode(
      ...Array.from({ length }, () => between(low, random() < 0.1 ? 0x7f : 0x7a)),
    )
    const bytes = Buffer.from(text, 'latin1')
    out.reset()
    weights.append(out, bytes, 0, bytes.length)
    assert.equal(
      out.copy().toString('hex'),
      keyOf(text).toString('hex'),
      `${JSON.stringify(text)}, seed ${seed}`,
    )
  }
})

test('random values sort as a plain comparison of values says', () => {
  const collator = openCollator()
  for (let round = 0; round < 20_000; round++) {
    const left = randomValue(3)
    const right = random() < 0.2 ? left : randomValue(3)
    const got = Math.sign(collator.compare(JSON.stringify(left), JSON.stringify(right)))
    assert.equal(got, compareValues(left, right), `${JSON.stringify([left, right])}, seed ${seed}`)
  }
})

type Value = null | boolean | number | string | Value[] | { [name: string]: Value }

function randomValue(depth: number): Value {
  const kind = between(0, depth === 0 ? 4 : 6)
  if (kind === 0) return null
  if (kind === 1) return random() < 0.5
  if (kind === 2) return between(-3, 3)
  if (kind === 3) return (random() - 0.5) * 10 ** between(-5, 20)
  if (kind === 4) return ['', 'a', 'A', 'b', 'ab', 'é', '文'][between(0, 6)] as string
  const children = Array.from({ length: between(0, 3) }, () => randomValue(depth - 1))
  return kind === 5
    ? children
    : Object.fromEntries(children.map((child, i) => [`${'ab'[between(0, 1)]}${i}`, child]))
}

function compareValues(left: Value, right: Value): number {
  const byType = Math.sign(rank(left) - rank(right))
  if (byType !== 0) return byType
  if (typeof left === 'number') return Math.sign(left - (right as number))
  if (typeof left === 'string') return Math.sign(INTL.compare(left, right as string))
  if (Array.isArray(left)) return compareLists(left, right as Value[])
  if (left !== null && typeof left === 'object') {
    return compareLists(
      Object.entries(left).flat(),
      Object.entries(right as object).flat() as Value[],
    )
  }
  return 0
}

function compareLists(left: readonly Value[], right: readonly Value[]): number {
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const order = compareValues(left[i] as Value, right[i] as Value)
    if (order !== 0) return order
  }
  return Math.sign(left.length - right.length)
}

const INTL = new Intl.Collator('en')

function rank(value: Value): number {
  if (value === null) return 0
  if (typeof value === 'boolean') return value ? 2 : 1
  if (typeof value === 'number') return 3
  if (typeof value === 'string') return 4
  return Array.isArray(value) ? 5 : 6
}

function randomText(): string {
  const alphabet = ALPHABETS[between(0, ALPHABETS.length - 1)] as () => number
  const other = ALPHABETS[between(0, ALPHABETS.length - 1)] as () => number
  const length = random() < 0.1 ? between(0, 120) : between(0, 8)
  const codes = Array.from({ length }, () => (random() < 0.8 ? alphabet() : other()))
  return String.fromCodePoint(...codes).normalize('NFC')
}

const shuffleCase = (text: string): string =>
  [...text]
    .map(one => (random() < 0.5 ? one.toUpperCase() : one))
    .join('')
    .normalize('NFC')

function between(low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1))
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
