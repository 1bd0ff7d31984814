/** Changes that come one after the other are worked on together, unless somebody waits for them. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ChangeProcessor } from '../../../../src/app/transitions/process-changes.ts'
import { silentLog } from '../../../../src/base/log.ts'
import { startApplication, type TestApplication } from '../../../support/application.ts'

/** A pause of the processor, which ends when the test says so, or its signal. */
interface Pause {
  readonly end: () => void
  readonly signal: AbortSignal
}

describe('the processor of changes', () => {
  let test: TestApplication
  let processor: ChangeProcessor
  const batches: string[][] = []
  let pause: Pause | undefined
  let count = 0

  before(async () => {
    test = await startApplication()
    const { application } = test.server
    assert.ok(application !== undefined)
    const { data, sentinel } = application
    processor = new ChangeProcessor({
      data,
      sentinel,
      run: async items => {
        batches.push(items.map(({ id }) => id))
        return { again: [], written: new Map(), documents: new Map() }
      },
      log: silentLog,
      wait: (_ms, signal) =>
        new Promise((resolve, reject) => {
          pause = { end: () => resolve(undefined), signal }
          const leave = (): void => reject(new Error('over'))
          if (signal.aborted) leave()
          else signal.addEventListener('abort', leave)
        }),
      onBatch: () => {},
    })
    processor.start()
    await processor.caughtUp()
  })
  after(async () => {
    await processor.close()
    await test.close()
  })

  const store = async (): Promise<string> => {
    const _id = `each-${count++}`
    await test.store({ _id })
    return _id
  }

  /** Writes until the processor pauses after a batch: on a slow machine a batch takes longer than the pause. */
  async function paused(): Promise<Pause> {
    while (pause === undefined) {
      await store()
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    return pause
  }

  it('gathers what is written while it pauses', async () => {
    const { end } = await paused()
    const known = batches.flat().length
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.push(await store())
    assert.equal(batches.flat().length, known)
    const before = batches.length
    pause = undefined
    end()
    while (!batches.flat().includes(ids.at(-1) as string)) {
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    assert.equal(batches.length, before + 1)
    assert.deepEqual(batches.at(-1)?.slice(-5), ids)
  })

  it('pauses no longer when somebody waits', async () => {
    const { signal } = await paused()
    const id = await store()
    await processor.caughtUp()
    assert.ok(signal.aborted)
    assert.ok(batches.flat().includes(id))
  })
})
