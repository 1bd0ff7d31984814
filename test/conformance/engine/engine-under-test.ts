/**
 * What the checks of the engine's promises have in common: stores to try, rows, and expected
 * failures.
 */
import assert from 'node:assert/strict'
import { isFailure } from '../../../src/base/errors.ts'
import type { Engine, Entry, Range, Store } from '../../../src/engine/engine.ts'

export interface EngineUnderTest {
  /** Opens an engine; the same name opens the same data when the engine persists. */
  open(): Promise<Engine>
}

export interface EnginePromise {
  readonly name: string
  readonly check: (subject: EngineUnderTest) => Promise<void>
}

export const b = (text: string): Buffer => Buffer.from(text)
export const number = (value: number): Buffer => b(String(value).padStart(8, '0'))
export const ALL: Range = { start: Buffer.alloc(0), end: Buffer.alloc(1910, 0xff) }

export async function withStore(
  subject: EngineUnderTest,
  check: (store: Store, engine: Engine) => Promise<void>,
): Promise<void> {
  const engine = await subject.open()
  try {
    await check(await engine.createStore('store'), engine)
  } finally {
    await engine.close()
  }
}

export const putAll = (store: Store, rows: readonly (readonly [Uint8Array, Uint8Array])[]) =>
  store.write(function* (tx) {
    for (const [key, value] of rows) tx.put(key, value)
  })

export async function collect(batches: AsyncIterable<Entry[]>): Promise<Entry[]> {
  const rows: Entry[] = []
  for await (const batch of batches) rows.push(...batch)
  return rows
}

export const keysOf = (rows: readonly Entry[]): string[] =>
  rows.map(row => row.key.toString('latin1'))

export const failsWith = (code: string) => (error: unknown) => {
  assert.ok(isFailure(error), `a Failure, not ${error}`)
  assert.equal(error.code, code)
  return true
}
