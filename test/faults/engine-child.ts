/**
 * A process that works on a store until it is killed. Prints a line for each thing that is
 * acknowledged, so that the test knows what must be there afterwards.
 *
 *   write <name>   pairs of keys that must agree; prints the number of each pair once written
 *   read           checks that every pair agrees in one read; prints what does not
 *   compact        compacts all the time; prints how often it has
 *   fill           writes until the disk is full; prints a report as JSON
 */

import { isFailure } from '../../src/base/errors.ts'
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts'
import type { Entry, Store } from '../../src/engine/engine.ts'
import { pairKey, pairValue } from './engine-pairs.ts'

const [folder = '', role = '', name = ''] = process.argv.slice(2)
const engine = await EmbeddedEngine.open({ folder })
const store = engine.store('pairs')
const say = (line: string | number): void => {
  process.stdout.write(`${line}\n`)
}

const roles: Readonly<Record<string, () => Promise<void>>> = {
  write: () => writePairs(store),
  read: () => checkPairs(store),
  compact: () => compactForever(store),
  fill: () => fillDisk(store),
}

say('ready')
await roles[role]?.()
await engine.close()

async function writePairs(target: Store): Promise<void> {
  for (let next = 0; ; next += 4) {
    // Several at once, so that one commit carries several works.
    await Promise.all([0, 1, 2, 3].map(offset => writePair(target, next + offset)))
  }
}

async function writePair(target: Store, number: number): Promise<void> {
  const value = pairValue(name, number)
  await target.write(function* (tx) {
    tx.put(pairKey('a', name, number), value)
    tx.deleteRange({ start: pairKey('junk', name, 0), end: pairKey('junk', name, number) })
    tx.put(pairKey('junk', name, number), Buffer.alloc(3000, number & 0xff))
    tx.put(pairKey('b', name, number), value)
  })
  say(number)
}

async function checkPairs(target: Store): Promise<void> {
  for (;;) {
    const [a, b] = await target.read(function* (tx) {
      const side = (letter: string) => ({
        start: Buffer.from(`${letter}:`),
        end: Buffer.from(`${letter};`),
      })
      const options = { limit: 300, reverse: true }
      return [yield* tx.scan(side('a'), options), yield* tx.scan(side('b'), options)] as const
    })
    if (!agree(a, b)) say('half a pair')
    await new Promise(resolve => setImmediate(resolve))
  }
}

function agree(a: readonly Entry[], b: readonly Entry[]): boolean {
  return (
    a.length === b.length &&
    a.every((row, i) => {
      const other = b[i] as Entry
      return row.key.subarray(1).equals(other.key.subarray(1)) && row.value.equals(other.value)
    })
  )
}

async function compactForever(target: Store): Promise<void> {
  for (let count = 1; ; count++) {
    try {
      await target.compact()
      say(count)
    } catch (error) {
      if (!isFailure(error, 'engine_busy')) throw error
    }
  }
}

async function fillDisk(target: Store): Promise<void> {
  let acknowledged = 0
  let code = 'none'
  try {
    for (; acknowledged < 100_000; acknowledged++) {
      await target.write(function* (tx) {
        tx.put(pairKey('a', 'fill', acknowledged), Buffer.alloc(20_000, 1))
        tx.put(pairKey('b', 'fill', acknowledged), Buffer.alloc(20_000, 1))
      })
    }
  } catch (error) {
    code = isFailure(error) ? error.code : String(error)
  }
  const together = await Promise.allSettled(
    [0, 1, 2].map(i =>
      target.write(function* (tx) {
        tx.put(pairKey('c', 'fill', i), Buffer.alloc(2_000_000, 1))
      }),
    ),
  )
  const deleted = await target
    .write(function* (tx) {
      tx.deleteRange({ start: Buffer.from('a'), end: Buffer.from('c') })
    })
    .then(
      () => 'deleted',
      (error: unknown) => (isFailure(error) ? error.code : String(error)),
    )
  const reason = (result: PromiseSettledResult<unknown>) =>
    result.status === 'rejected' && isFailure(result.reason) ? result.reason.code : result.status
  say(JSON.stringify({ acknowledged, code, together: together.map(reason), deleted }))
}
