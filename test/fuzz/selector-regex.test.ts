/**
 * The pattern engines agree with the native one wherever both languages mean the same: random
 * patterns of the common part, random short texts, each also in a form that only the stepping
 * matcher runs.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../src/base/errors.ts'
import { compilePattern } from '../../src/core/mango/pattern/pattern.ts'

const seed = Number(process.env.GURNEY_SEED ?? Math.floor(Math.random() * 2 ** 31))
const RUN_MS = 3000

function makeRandom(start: number) {
  let state = start >>> 0 || 1
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 4294967296
  }
  const below = (count: number) => Math.floor(next() * count)
  return { below, pick: <T>(list: readonly T[]): T => list[below(list.length)] as T }
}
type Random = ReturnType<typeof makeRandom>

function randomPattern(random: Random, depth: number): string {
  const length = 1 + random.below(3)
  return Array.from({ length }, () => randomPiece(random, depth)).join('')
}

function randomPiece(random: Random, depth: number): string {
  const atom =
    depth > 0 && random.below(3) === 0
      ? randomGroup(random, depth - 1)
      : random.pick(['a', 'b', 'c', '.', '[ab]', '[^a]', '[b-c]', '😀', '\\d'])
  return atom + random.pick(['', '', '', '*', '+', '?', '{2}', '{1,2}', '*?', '+?', '??'])
}

function randomGroup(random: Random, depth: number): string {
  const inner = () => randomPattern(random, depth)
  return random.pick([
    () => `(?:${inner()})`,
    () => `(?:${inner()}|${inner()})`,
    () => `(${inner()})`,
    () => `(?:(?=${inner()})${inner()})`,
    () => `(?:(?!${inner()})${inner()})`,
  ])()
}

/** Repeats of repeats may explode even on short texts: then there is no answer to compare. */
function bounded(run: () => boolean): boolean | undefined {
  try {
    return run()
  } catch (thrown) {
    if (isFailure(thrown, 'timeout')) return undefined
    throw thrown
  }
}

test(`random patterns agree with the native engine (seed ${seed})`, t => {
  const random = makeRandom(seed)
  const end = performance.now() + RUN_MS
  let checks = 0
  let timeouts = 0
  while (performance.now() < end) {
    const body = randomPattern(random, 2)
    const source = random.pick(['', '^']) + body + random.pick(['', '\\z'])
    const native = new RegExp(source.replace(/\\z$/, '$'), 'u')
    const pattern = compilePattern(source)
    const forced = compilePattern(`(?:${source})|(?:\\A\\b\\B)|(?:\\A\\b\\B)`)
    for (let round = 0; round < 10; round++) {
      const text = Array.from({ length: random.below(9) }, () =>
        random.pick(['a', 'b', 'c', '1', '😀', '\n']),
      ).join('')
      const expected = native.test(text)
      const story = JSON.stringify({ seed, source, text })
      for (const each of [pattern, forced]) {
        const answer = bounded(() => each.test(text))
        if (answer === undefined) timeouts++
        else assert.equal(answer, expected, story)
        checks++
      }
    }
  }
  t.diagnostic(`${checks} checks, ${timeouts} timeouts`)
  assert.ok(timeouts * 100 < checks, 'patterns that explode are rare')
  assert.ok(checks > 100)
})
