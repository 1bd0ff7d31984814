import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { runAll } from '../../../../../src/core/indexing/first-build/run-tasks.ts'

test('works run by turns, so many at once', async () => {
  const done: number[] = []
  let running = 0
  let most = 0
  const works = Array.from({ length: 7 }, (_, i) => async () => {
    most = Math.max(most, ++running)
    await delay(1)
    running--
    done.push(i)
  })
  await runAll(3, works)
  assert.equal(most, 3)
  assert.deepEqual(
    done.sort((one, two) => one - two),
    [0, 1, 2, 3, 4, 5, 6],
  )
})

test('after a failure none is begun, and those under way are waited for', async () => {
  const begun: string[] = []
  const ended: string[] = []
  const work =
    (name: string, ms: number, fails = false) =>
    async () => {
      begun.push(name)
      await delay(ms)
      if (fails) throw new Error(`${name} fails`)
      ended.push(name)
    }
  const works = [work('quick', 1, true), work('slow', 40), work('late', 1)]
  await assert.rejects(runAll(2, works), /quick fails/)
  assert.deepEqual(begun, ['quick', 'slow'])
  assert.deepEqual(ended, ['slow'])
})
