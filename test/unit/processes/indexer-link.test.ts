import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { isFailure } from '../../../src/base/errors.ts'
import type { IndexRequest } from '../../../src/core/indexing/index-updates.ts'
import { TOPIC } from '../../../src/processes/boot.ts'
import { Channel, type Pipe } from '../../../src/processes/channel.ts'
import { IndexerLink } from '../../../src/processes/indexer-link.ts'

/** Two ends of a pipe within this process. */
function pipePair(): { left: Pipe; right: Pipe; cut: () => void } {
  const listeners: ((message: unknown) => void)[] = []
  const closers: (() => void)[] = []
  const end = (own: number): Pipe => ({
    send: message => queueMicrotask(() => listeners[1 - own]?.(message)),
    onMessage: listener => {
      listeners[own] = listener
    },
    onClose: listener => closers.push(listener),
  })
  const cut = (): void => {
    for (const close of closers) close()
  }
  return { left: end(0), right: end(1), cut }
}

interface Asked {
  readonly request: IndexRequest
  readonly done: () => void
}

/** A link with processes that answer when the test says so, and somebody who asks. */
function setUp(countMax: number) {
  const processes: { channel: Channel; asked: Asked[]; die: () => void }[] = []
  const link = new IndexerLink({
    countMax,
    start: () => {
      const { left, right, cut } = pipePair()
      const channel = new Channel(left)
      const asked: Asked[] = []
      new Channel(right).on(
        TOPIC.index,
        (request: IndexRequest) => new Promise<void>(done => asked.push({ request, done })),
      )
      const die = (): void => {
        link.disconnect(channel)
        cut()
      }
      processes.push({ channel, asked, die })
      setImmediate(() => link.connect(channel))
    },
    retire: () => {},
    clock: () => 0,
  })
  const { left, right } = pipePair()
  link.serve(new Channel(left))
  const worker = new Channel(right)
  const ask = (signature: string, seq = 1): Promise<void> =>
    worker.request(TOPIC.index, { databaseId: 'db-1', signature, seq })
  return { processes, ask }
}

const settle = async (): Promise<void> => {
  for (let turns = 0; turns < 10; turns++) await turn()
}

const finishAll = (processes: readonly { asked: Asked[] }[]): void => {
  for (const { asked } of processes) for (const { done } of asked.splice(0)) done()
}

describe('the link to indexers', () => {
  it('starts a process per index up to the bound, and sends one index to one process', async () => {
    const { processes, ask } = setUp(2)
    const all = [ask('a'), ask('a', 2), ask('b'), ask('c')]
    await settle()
    assert.equal(processes.length, 2)
    const bySignature = processes.map(({ asked }) => asked.map(({ request }) => request.signature))
    assert.deepEqual(bySignature.map(list => list.includes('a')).sort(), [false, true])
    assert.equal(bySignature.flat().length, 4)
    finishAll(processes)
    await Promise.all(all)
  })

  it('uses a process again that has nothing to do', async () => {
    const { processes, ask } = setUp(2)
    for (const signature of ['a', 'b', 'c']) {
      const asked = ask(signature)
      await settle()
      finishAll(processes)
      await asked
    }
    assert.equal(processes.length, 1)
  })

  it('asks another process when one dies', async () => {
    const { processes, ask } = setUp(1)
    const all = [ask('a'), ask('a')]
    await settle()
    processes[0]?.die()
    await settle()
    assert.equal(processes.length, 2)
    assert.equal(processes[1]?.asked.length, 2)
    finishAll(processes)
    await Promise.all(all)
  })

  it('gives up when processes die again and again', async () => {
    const { processes, ask } = setUp(1)
    const outcome = ask('a').catch(thrown => thrown as unknown)
    for (let deaths = 0; deaths < 4; deaths++) {
      await settle()
      processes.at(-1)?.die()
    }
    assert.ok(isFailure(await outcome, 'service_unavailable'))
    assert.equal(processes.length, 4)
  })
})
