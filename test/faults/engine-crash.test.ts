/**
 * Processes that use one store are killed at random moments. Afterwards every acknowledged write is
 * there, no write is half there, and no process was hindered by the death of another.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts'
import { parseStoreFile } from '../../src/engine/embedded/store-files.ts'
import type { Entry, Store } from '../../src/engine/engine.ts'
import { pairKey, pairValue } from './engine-pairs.ts'

const CHILD = fileURLToPath(new URL('./engine-child.ts', import.meta.url))
const KILLS_MIN = 3
const KILLING_MS_MAX = 10_000
const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000)

/** A small generator of random numbers below 1 that a seed repeats. */
function randomFrom(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 0x1_0000_0000
  }
}

interface Child {
  readonly role: string
  readonly name: string
  readonly process: ChildProcess
  readonly lines: string[]
  readonly ended: Promise<string>
}

async function start(folder: string, role: string, name: string): Promise<Child> {
  const args = ['--import', 'tsx', CHILD, folder, role, name]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const lines: string[] = []
  let text = ''
  let errors = ''
  child.stderr.on('data', data => {
    errors += data
  })
  const ready = new Promise<void>((resolve, reject) => {
    child.stdout.on('data', data => {
      text += data
      const parts = text.split('\n')
      text = parts.pop() ?? ''
      lines.push(...parts)
      if (lines.length > 0) resolve()
    })
    child.on('close', () => reject(new Error(`the process ended at once: ${errors}`)))
  })
  const ended = new Promise<string>(resolve => child.on('close', () => resolve(errors)))
  await ready
  lines.shift()
  return { role, name, process: child, lines, ended }
}

async function kill(child: Child): Promise<void> {
  child.process.kill('SIGKILL')
  assert.equal(await child.ended, '', `${child.role} ${child.name} complained`)
}

/** All rows of some sides, in one state of the store. */
const rowsOf = async (store: Store, ...sides: string[]): Promise<Entry[][]> =>
  store.read(function* (tx) {
    const found: Entry[][] = []
    for (const side of sides) {
      const range = { start: Buffer.from(`${side}:`), end: Buffer.from(`${side};`) }
      found.push(yield* tx.scan(range, { limit: 1_000_000 }))
    }
    return found
  })

/** Every acknowledged pair is there; every pair that is there is whole. */
async function checkStore(store: Store, acknowledged: ReadonlyMap<string, readonly string[]>) {
  const [a = [], b = []] = await rowsOf(store, 'a', 'b')
  assert.equal(a.length, b.length, 'as many left as right halves')
  const values = new Map(a.map(row => [row.key.toString(), row.value]))
  for (const [i, row] of a.entries()) {
    const other = b[i] as Entry
    assert.deepEqual(other.key.subarray(1), row.key.subarray(1))
    assert.ok(other.value.equals(row.value), `${row.key} agrees`)
  }
  for (const [name, numbers] of acknowledged) {
    for (const number of numbers) {
      const value = values.get(pairKey('a', name, Number(number)).toString())
      assert.ok(value?.equals(pairValue(name, Number(number))), `pair ${name} ${number} is there`)
    }
  }
}

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

async function killAtRandom(roles: readonly string[], kills: number, runMs: number): Promise<void> {
  const random = randomFrom(seed)
  const folder = await mkdtemp(path.join(os.tmpdir(), 'gurney-crash-'))
  const acknowledged = new Map<string, string[]>()
  const children: Child[] = []
  let names = 0
  let engine = await EmbeddedEngine.open({ folder })
  try {
    const store = await engine.createStore('pairs')
    await store.write(function* (tx) {
      for (let i = 0; i < 20_000; i++)
        tx.put(pairKey('ballast', 'x', i), Buffer.alloc(300, i & 0xff))
    })
    const begin = async (role: string): Promise<Child> => {
      const child = await start(folder, role, `w${names++}`)
      if (role === 'write') acknowledged.set(child.name, child.lines)
      return child
    }
    children.push(...(await Promise.all(roles.map(begin))))
    const startedMs = Date.now()
    for (let round = 0; round < kills; round++) {
      // A busy machine gets fewer kills, not a longer test.
      if (round >= KILLS_MIN && Date.now() - startedMs > KILLING_MS_MAX) break
      await pause(random() * runMs)
      const at = Math.floor(random() * children.length)
      const victim = children[at] as Child
      await kill(victim)
      if (victim.role === 'read') assert.deepEqual(victim.lines, [], 'readers saw whole pairs only')
      await checkStore(store, acknowledged)
      children[at] = await begin(victim.role)
    }
    await Promise.all(children.map(kill))
    await checkStore(store, acknowledged)
    const total = [...acknowledged.values()].reduce((sum, lines) => sum + lines.length, 0)
    assert.ok(total > 100, `enough was written to mean something: ${total}`)
    await engine.close()
    engine = await EmbeddedEngine.open({ folder, sweep: true })
    await checkStore(engine.store('pairs'), acknowledged)
    const [ballast = []] = await rowsOf(engine.store('pairs'), 'ballast')
    assert.equal(ballast.length, 20_000)
    const files = (await readdir(folder)).flatMap(each => parseStoreFile(each) ?? [])
    assert.equal(files.length, 1, 'the sweep left one file')
  } finally {
    for (const child of children) child.process.kill('SIGKILL')
    await engine.close()
    await rm(folder, { recursive: true, force: true })
  }
}

it(`two writers and a reader are killed at random (seed ${seed})`, {
  timeout: 60_000,
}, async () => {
  await killAtRandom(['write', 'write', 'read'], 8, 700)
})

it(`a compaction and those around it are killed at random (seed ${seed})`, {
  timeout: 60_000,
}, async () => {
  await killAtRandom(['write', 'compact', 'compact', 'read'], 10, 500)
})

it('a full disk fails the write, keeps what was acknowledged, and allows deleting', {
  timeout: 60_000,
}, async t => {
  if (process.platform === 'win32') return t.skip('there is no ulimit')
  const folder = await mkdtemp(path.join(os.tmpdir(), 'gurney-full-'))
  let engine = await EmbeddedEngine.open({ folder })
  try {
    await engine.createStore('pairs')
    await engine.close()
    // Files end at 4 or 8 MB, by shell; a write beyond fails like one to a full disk.
    const script = `ulimit -f 8192 && exec "$0" --import tsx "$@"`
    const child = spawn('sh', ['-c', script, process.execPath, CHILD, folder, 'fill', 'x'])
    let text = ''
    let errors = ''
    child.stdout.on('data', data => {
      text += data
    })
    child.stderr.on('data', data => {
      errors += data
    })
    await new Promise(resolve => child.on('close', resolve))
    assert.equal(errors, '')
    const report = JSON.parse(text.split('\n')[1] ?? '{}') as Record<string, unknown>
    // LMDB calls a write that came out short an input/output error; with room left on the disk it
    // stays one.
    const codes = ['storage_full', 'storage_unwritable']
    assert.ok(codes.includes(String(report.code)), `failed with ${report.code}`)
    assert.ok(Number(report.acknowledged) > 50)
    for (const code of report.together as string[]) assert.ok(codes.includes(code), code)
    engine = await EmbeddedEngine.open({ folder, sweep: true })
    const [rows = []] = await rowsOf(engine.store('pairs'), 'a')
    if (report.deleted === 'deleted') assert.equal(rows.length, 0)
    else assert.equal(rows.length, report.acknowledged)
    await engine.store('pairs').write(function* (tx) {
      tx.put(Buffer.from('after'), Buffer.alloc(1_000_000))
    })
  } finally {
    await engine.close()
    await rm(folder, { recursive: true, force: true })
  }
})
