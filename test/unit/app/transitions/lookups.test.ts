/** Look-ups say what the views would say that moment, whether their index has come that far or not. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import {
  DocumentDatabase,
  type IndexedRows,
} from '../../../../src/app/documents/document-database.ts'
import {
  LOOKUP_VIEWS,
  type LookupView,
  lookupDesign,
} from '../../../../src/app/install/designs/lookup-design.ts'
import { BatchDatabase } from '../../../../src/app/transitions/batch-database.ts'
import { Lookups } from '../../../../src/app/transitions/lookups.ts'
import { startApplication, type TestApplication } from '../../../support/application.ts'

const NAME = 'elsewhere'
const DESIGN = `${NAME}-lookup`

/** Documents as people have them, and some that nobody should have. */
const ODD: readonly Record<string, unknown>[] = [
  { _id: 'b', type: 'person', phone: '+1', patient_id: '10001' },
  { _id: 'a', type: 'contact', contact_type: 'nurse', phone: '+1', place_id: 10001 },
  { _id: 'ä', type: 'clinic', phone: '+1', rc_code: 'abc' },
  { _id: 'number', type: 'person', phone: 1, patient_id: 10001, place_id: '10001' },
  { _id: 'object', type: 'person', phone: { a: 1 }, patient_id: ['10001'] },
  { _id: 'throws', type: 'person', phone: '+1', patient_id: { toString: 1 }, place_id: '10001' },
  { _id: 'office', type: 'national_office', phone: '+1', rc_code: 'ABC' },
  { _id: 'report', type: 'data_record', form: 'P', fields: { patient_id: 10001 } },
  { _id: 'wrong', type: 'data_record', form: 'P', patient_id: '10001', errors: ['x'] },
  { _id: 'text-errors', type: 'data_record', form: 'P', patient_id: '10001', errors: 'x' },
  { _id: 'no-errors', type: 'data_record', form: 'P', patient_id: '10001', errors: { length: 0 } },
  { _id: 'text-fields', type: 'data_record', form: 'P', place_id: '10001', fields: 'none' },
  { _id: 'message', type: 'data_record', patient_id: '10001', case_id: '10001' },
  { _id: 'null', type: 'data_record', form: 'P', patient_id: null, fields: null, errors: null },
]
const KEYS = ['+1', 1, { a: 1 }, '10001', 10001, ['shortcode', '10001'], ['external', 'ABC']]
const TEXTS = KEYS.map(key => JSON.stringify(key))

/** Remembers how its indexes were asked. */
class WatchedDatabase extends DocumentDatabase {
  updates: string[] = []

  override indexedRows(
    ...[design, view, query]: Parameters<DocumentDatabase['indexedRows']>
  ): Promise<IndexedRows> {
    this.updates.push(query.update)
    return super.indexedRows(design, view, query)
  }
}

describe('look-ups', () => {
  let test: TestApplication
  let data: DocumentDatabase
  let lookups: Lookups
  before(async () => {
    test = await startApplication()
    assert.ok(test.server.application !== undefined)
    data = new DocumentDatabase(test.server.application.server, NAME)
    lookups = new Lookups(data)
  })
  after(() => test.close())

  /** A database made anew, for look-ups that knew the one before. */
  beforeEach(async () => {
    await test.ask('DELETE', `/${NAME}`)
    assert.equal((await test.ask('PUT', `/${NAME}`)).status, 201)
    const { views } = lookupDesign(NAME)
    await data.put({ _id: `_design/${DESIGN}`, views })
    await indexed('contacts_by_phone')
  })

  /** Brings the index up. */
  const indexed = (view: LookupView) =>
    data.indexedRows(DESIGN, view, { keys: TEXTS.map(text => Buffer.from(text)), update: 'true' })

  const indexSeq = async (): Promise<number> =>
    (await data.indexedRows(DESIGN, 'contacts_by_phone', { keys: [], update: 'false' })).updateSeq

  async function looked(): Promise<Record<string, Record<string, string[]>>> {
    const found: Record<string, Record<string, string[]>> = {}
    for (const view of LOOKUP_VIEWS) {
      const rows = await lookups.rows(view, TEXTS)
      found[view] = Object.fromEntries(
        [...rows].map(([key, those]) => [key, [...new Set(those.map(({ id }) => id))]]),
      )
    }
    return found
  }

  /** What the views themselves say. */
  async function viewed(): Promise<Record<string, Record<string, string[]>>> {
    const found: Record<string, Record<string, string[]>> = {}
    for (const view of LOOKUP_VIEWS) {
      const those = Object.fromEntries(TEXTS.map(text => [text, new Set<string>()]))
      for (const { id, key } of (await indexed(view)).rows) those[JSON.stringify(key)]?.add(id)
      found[view] = Object.fromEntries(Object.entries(those).map(([key, ids]) => [key, [...ids]]))
    }
    return found
  }

  const write = async (documents: readonly Record<string, unknown>[]): Promise<void> => {
    for (const outcome of await data.putMany(documents as never)) assert.ok(outcome.ok)
  }

  it('tell of documents that the index does not know, in its order, and leave it alone', async () => {
    const seq = await indexSeq()
    await write(ODD)
    const found = await looked()
    assert.equal(await indexSeq(), seq)
    assert.deepEqual(found, await viewed())
    assert.deepEqual(found.contacts_by_phone?.['"+1"'], ['a', 'b', 'throws', 'ä'])
  })

  it('tell of changes and deletions of documents that the index does know', async () => {
    await write(ODD)
    await indexed('contacts_by_phone')
    const seq = await indexSeq()
    const [b, a, clinic, report] = await data.getMany(['b', 'a', 'ä', 'report'])
    await write([
      { ...b, phone: '+2' },
      { ...a, _deleted: true },
      { ...clinic, name: 'the same keys' },
      { ...report, errors: ['x'] },
    ])
    const found = await looked()
    assert.equal(await indexSeq(), seq)
    assert.deepEqual(found, await viewed())
    assert.deepEqual(found.contacts_by_phone?.['"+1"'], ['throws', 'ä'])
  })

  it('follow an index that moves on', async () => {
    for (const document of ODD) {
      await write([document])
      assert.deepEqual(await looked(), await viewed())
      await write([{ ...(await data.get(document._id as string)), phone: '+1' } as never])
      assert.deepEqual((await looked()).contacts_by_phone, (await viewed()).contacts_by_phone)
    }
  })

  it('do not find what was purged', async () => {
    await write(ODD)
    await indexed('contacts_by_phone')
    const rev = (await data.get('b'))?._rev
    const purged = await test.ask('POST', `/${NAME}/_purge`, { body: { b: [rev] } })
    assert.equal(purged.status, 201)
    assert.deepEqual((await looked()).contacts_by_phone?.['"+1"'], ['a', 'throws', 'ä'])
  })

  const many = (from: number, count: number) =>
    Array.from({ length: count }, (_, n) => ({ _id: `many-${from + n}`, type: 'person' }))

  it('have the index brought up when it is far behind, and wait when it is too far', async () => {
    const seq = await indexSeq()
    await write([...many(0, 300), ...ODD])
    const found = await looked()
    assert.deepEqual(found, await viewed())
    while ((await indexSeq()) === seq) await new Promise(resolve => setTimeout(resolve, 5))
    for (let from = 300; from < 3000; from += 900) await write(many(from, 900))
    const before = await indexSeq()
    assert.deepEqual(await looked(), found)
    assert.ok((await indexSeq()) > before + 1500)
  })

  it('find keys of any length', async () => {
    const phone = '1'.repeat(5000)
    await write([{ _id: 'long', type: 'person', phone }])
    const rows = await lookups.rows('contacts_by_phone', [JSON.stringify(phone)])
    assert.deepEqual(
      [...rows.values()].map(those => those.map(({ id }) => id)),
      [['long']],
    )
  })

  it('give ids in the order of their bytes', async () => {
    const ids = ['\u{1f600}', '\ufb00', 'z']
    await write(ids.map(_id => ({ _id, type: 'person', phone: '+1' })))
    assert.deepEqual((await looked()).contacts_by_phone?.['"+1"'], [...ids].reverse())
    assert.deepEqual(await looked(), await viewed())
  })

  it('are what a batch asks, and no larger index', async () => {
    await write(ODD)
    assert.ok(test.server.application !== undefined)
    const batch = new BatchDatabase(test.server.application.server, NAME, lookups)
    // There is no such design document here.
    const rows = await batch.allRows(`${NAME}-client`, 'contacts_by_phone', { keys: ['+1'] })
    assert.deepEqual(
      rows.map(({ id }) => id),
      ['a', 'b', 'throws', 'ä'],
    )
  })

  describe('ask for the index', () => {
    let watched: WatchedDatabase
    let asking: Lookups
    beforeEach(() => {
      assert.ok(test.server.application !== undefined)
      watched = new WatchedDatabase(test.server.application.server, NAME)
      asking = new Lookups(watched)
    })

    /** How one question asked for it. */
    async function asked(): Promise<string[]> {
      watched.updates = []
      await asking.rows('contacts_by_phone', ['"+1"'])
      return watched.updates
    }

    it('as it is while it is a little behind', async () => {
      await write(many(0, 200))
      assert.deepEqual([await asked(), await asked()], [['false'], ['false']])
    })

    it('to be brought up once for many changes', async () => {
      await write(many(0, 300))
      assert.deepEqual([await asked(), await asked()], [['lazy'], ['false']])
      await write(many(300, 100))
      assert.deepEqual(await asked(), ['false'])
    })

    it('as it is when others had it brought up', async () => {
      await write(many(0, 300))
      await asked()
      await write(many(300, 200))
      await indexed('contacts_by_phone')
      assert.deepEqual(await asked(), ['false'])
      await write(many(500, 100))
      assert.deepEqual(await asked(), ['false'], '300 after it was asked for, and 100 behind')
    })

    it('and wait when it is too far behind', async () => {
      for (const from of [0, 900]) await write(many(from, 900))
      assert.deepEqual(await asked(), ['lazy', 'true'])
      assert.deepEqual(await asked(), ['false'])
    })

    it('and wait when there is none', async () => {
      const { views } = lookupDesign(NAME)
      const [one] = await data.getMany([`_design/${DESIGN}`])
      assert.ok(one !== undefined)
      const map = 'function (doc) { emit(doc.phone, 1) }'
      await data.put({ ...one, views: { ...views, contacts_by_phone: { map } } })
      assert.deepEqual(await asked(), ['false', 'true'])
    })

    it('of a database made anew as of any other', async () => {
      await write(many(0, 700))
      await asked()
      await test.ask('DELETE', `/${NAME}`)
      assert.equal((await test.ask('PUT', `/${NAME}`)).status, 201)
      await data.put({ _id: `_design/${DESIGN}`, views: lookupDesign(NAME).views })
      await indexed('contacts_by_phone')
      await write(many(0, 500))
      assert.deepEqual(await asked(), ['lazy'])
    })
  })
})
