/** What becomes of a batch when others write the same documents, when a transition throws, and when records arrive together. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Application } from '../../../../src/app/application.ts'
import type { Document } from '../../../../src/app/documents/document.ts'
import { RepeatedMessages } from '../../../../src/app/messages/repeated-messages.ts'
import { BatchDatabase } from '../../../../src/app/transitions/batch-database.ts'
import { Desk } from '../../../../src/app/transitions/desk.ts'
import { Lookups } from '../../../../src/app/transitions/lookups.ts'
import { runBatch } from '../../../../src/app/transitions/run-batch.ts'
import { ShortCodes } from '../../../../src/app/transitions/short-codes.ts'
import type { Transition } from '../../../../src/app/transitions/transition.ts'
import { silentLog } from '../../../../src/base/log.ts'
import { startApplication, type TestApplication } from '../../../support/application.ts'

describe('a batch of transitions', () => {
  let test: TestApplication
  let application: Application
  before(async () => {
    test = await startApplication()
    assert.ok(test.server.application !== undefined)
    application = test.server.application
  })
  after(() => test.close())

  const codes = (random: (limit: number) => number, count = 1) =>
    new ShortCodes({
      data: application.data,
      sentinel: application.sentinel,
      lookups: new Lookups(application.data),
      clock: application.clock,
      random,
      count,
    })

  async function run(transitions: readonly Transition[], ...ids: string[]) {
    const { server, data, users, clock, expressions } = application
    const { infos, translations } = application.transitions
    const desk = new Desk({
      data: new BatchDatabase(server, data.name, new Lookups(data)),
      users,
      infos,
      settings: await application.settings.current(),
      translations: await translations.current(),
      expressions,
      shortCodes: codes(() => 0),
      repeated: new RepeatedMessages(),
      clock,
    })
    const parts = { desk, infos, transitions, log: silentLog, queuePushes: async () => {} }
    return runBatch(
      parts,
      ids.map(id => ({ id })),
    )
  }

  const transition = (name: string, work: Transition['run'], repeats = false): Transition => ({
    name,
    runsOnArrival: false,
    repeats,
    isFor: () => true,
    run: work,
  })
  const store = async (_id: string, members: object = {}): Promise<void> => {
    await application.data.put({ _id, type: 'data_record', ...members })
  }
  const get = async (id: string): Promise<Document> => {
    const found = await application.data.get(id)
    assert.ok(found !== undefined)
    return found
  }
  const runsOf = async (id: string): Promise<string[]> => {
    const infos = await application.transitions.infos.read([id])
    return Object.keys(infos.get(id)?.transitions ?? {})
  }

  it('names those whose effects somebody else was in the way of, and remembers nothing of them', async () => {
    await store('a')
    await store('other', { count: 0 })
    let isDisturbed = true
    const counting = transition('counting', async work => {
      const other = (await work.desk.data.get('other')) as Document
      if (isDisturbed) await application.data.put({ ...(await get('other')), theirs: true })
      isDisturbed = false
      work.set({ seen: true })
      if (other.by !== work.id) work.changeOther({ ...other, by: work.id, count: 1 })
      return true
    })
    const first = await run([counting], 'a')
    assert.deepEqual(first.again, ['a'])
    assert.deepEqual(await runsOf('a'), [])
    const second = await run([counting], 'a')
    assert.deepEqual(second.again, [])
    const { count, theirs } = await get('other')
    assert.deepEqual({ count, theirs }, { count: 1, theirs: true })
    assert.deepEqual(await runsOf('a'), ['counting'])
  })

  it('leaves a document alone that was changed meanwhile: it comes again', async () => {
    await store('b')
    const disturbed = transition('disturbed', async work => {
      await application.data.put({ ...(await get('b')), newer: true })
      work.set({ older: true })
      return true
    })
    const { again, written } = await run([disturbed], 'b')
    assert.deepEqual(again, [])
    assert.equal(written.has('b'), false)
    const { newer, older } = await get('b')
    assert.deepEqual({ newer, older }, { newer: true, older: undefined })
    assert.deepEqual(await runsOf('b'), [])
  })

  it('keeps an error of a transition that throws, where anything else is to be written', async () => {
    await store('c')
    await store('d')
    const throwing = transition('throwing', async () => {
      throw new Error('no')
    })
    const setting = transition('setting', async work => {
      work.set({ done: true })
      return true
    })
    await run([throwing, setting], 'c')
    const { errors, done } = await get('c')
    assert.equal(done, true)
    const expected = { code: "throwing_error'", message: 'Transition error on throwing: no' }
    assert.deepEqual(errors, [expected])
    const before = await get('d')
    await run([throwing], 'd')
    assert.deepEqual(await get('d'), before)
  })

  it('runs a transition once on a document, and one that repeats once on a revision', async () => {
    await store('e')
    let once = 0
    let often = 0
    const list = [
      transition('once', async () => ++once > 0),
      transition('often', async () => ++often > 0, true),
    ]
    await run(list, 'e')
    await run(list, 'e')
    assert.deepEqual([once, often], [1, 1])
    await application.data.put({ ...(await get('e')), next: true })
    await run(list, 'e')
    assert.deepEqual([once, often], [1, 2])
  })

  it('sees what the ones before it in the batch have done', async () => {
    await store('f1', { form: 'X', fields: { patient_id: '55' } })
    await store('f2', { form: 'X', fields: { patient_id: '55' } })
    const making = transition('making', async work => {
      if (work.patient === undefined) {
        work.changeOther({ _id: 'p55', type: 'person', name: 'P', patient_id: '55' })
        work.set({ made: true })
      } else work.set({ found: work.patient.name })
      return true
    })
    await run([making], 'f1', 'f2')
    assert.equal((await get('f1')).made, true)
    assert.equal((await get('f2')).found, 'P')
  })

  it('never gives two processes the same short id, and takes longer ones when those run out', async () => {
    const sequence = () => {
      let next = 0
      return (limit: number): number => next++ % Math.min(limit, 3)
    }
    const here = codes(sequence(), 3)
    const there = codes(sequence(), 3)
    const taken = [await here.next(), await there.next(), await here.next(), await there.next()]
    assert.equal(new Set(taken).size, 4)
    assert.deepEqual(taken.map(({ length }) => length).sort(), [5, 5, 6, 6])
  })

  it('stores records that arrive together together, each with its own outcome', async () => {
    const body = { transitions: { update_sent_by: true } }
    assert.equal((await test.ask('PUT', '/api/v1/settings', { body })).status, 200)
    await application.data.put({ _id: 'anna', type: 'person', name: 'Anna', phone: '+12025550101' })
    const record = (_id: string) => ({ _id, type: 'data_record', from: '+12025550101' })
    const all = await Promise.all([
      application.transitions.storeNew([record('n1'), record('n2')]),
      application.transitions.storeNew([record('n3')]),
      application.transitions.storeNew([{ ...record('n4'), purged: true }]),
      application.transitions.storeNew([record('n3'), record('n5')]),
    ])
    assert.deepEqual(
      all.map(outcomes => outcomes.map(({ ok }) => ok)),
      [[true, true], [true], [false], [false, true]],
    )
    for (const id of ['n1', 'n2', 'n3', 'n5']) {
      assert.equal((await get(id)).sent_by, 'Anna')
      assert.deepEqual(await runsOf(id), ['update_sent_by'])
    }
  })
})
