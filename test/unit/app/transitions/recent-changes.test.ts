/** What changed lately is known from where the question says, however far the one before went, and no more than a bound. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { DocumentDatabase } from '../../../../src/app/documents/document-database.ts'
import { RecentChanges } from '../../../../src/app/transitions/recent-changes.ts'
import type { Database } from '../../../../src/core/database/database.ts'
import { startApplication, type TestApplication } from '../../../support/application.ts'

const NAMES = ['one', 'two'] as const
/** More than are read at once, and more than are kept. */
const MANY = 2400

describe('recent changes', () => {
  let test: TestApplication
  let data: DocumentDatabase
  let database: Database
  let recent: RecentChanges
  before(async () => {
    test = await startApplication()
  })
  after(() => test.close())

  beforeEach(async () => {
    for (const name of NAMES) {
      await test.ask('DELETE', `/${name}`)
      assert.equal((await test.ask('PUT', `/${name}`)).status, 201)
    }
    data = dataOf('one')
    database = (await data.open()).database
    recent = new RecentChanges({ by_name: ({ name }) => (name === undefined ? [] : [name]) })
  })

  function dataOf(name: string): DocumentDatabase {
    assert.ok(test.server.application !== undefined)
    return new DocumentDatabase(test.server.application.server, name)
  }

  /** Each is one change. */
  async function write(...ids: string[]): Promise<void> {
    const outcomes = await data.putMany(ids.map(_id => ({ _id, name: 'x' })))
    for (const outcome of outcomes) assert.ok(outcome.ok)
  }

  const many = () => Array.from({ length: MANY }, (_, i) => `d${i + 1}`)
  const named = (seq: number) => recent.idsOf('by_name', '"x"', seq)

  it('are those after a sequence', async () => {
    await write('a', 'b', 'c')
    await recent.follow(database, 0)
    assert.deepEqual(named(0), ['a', 'b', 'c'])
    assert.deepEqual(named(2), ['c'])
    assert.deepEqual(
      ['a', 'c', 'z'].map(id => recent.hasChanged(id, 2)),
      [false, true, false],
    )
  })

  it('are known from an earlier sequence on when that is asked later', async () => {
    await write('a', 'b', 'c')
    await recent.follow(database, 2)
    assert.deepEqual(named(0), ['c'])
    await recent.follow(database, 0)
    assert.deepEqual(named(0), ['a', 'b', 'c'])
  })

  it('are not read where the index was ahead', async () => {
    await write('a')
    await recent.follow(database, 0)
    await write('b', 'c')
    await recent.follow(database, 2)
    assert.deepEqual(named(0), ['c'])
  })

  it('are all known, however many they are', async () => {
    await write(...many())
    await recent.follow(database, 0)
    assert.deepEqual(named(0), many())
  })

  it('are let go when there are many that the index knows, and those alone', async () => {
    await write(...many())
    await recent.follow(database, 0)
    await recent.follow(database, 1000)
    assert.deepEqual(named(0), many().slice(1000))
    await recent.follow(database, 0)
    assert.deepEqual(named(0), many(), 'and are read again for who knows less')
  })

  it('stay while they are few', async () => {
    await write('a', 'b', 'c')
    await recent.follow(database, 0)
    await recent.follow(database, 2)
    assert.deepEqual(named(0), ['a', 'b', 'c'])
  })

  it('are known to each of those who ask at the same time', async () => {
    await write(...many())
    for (const turns of [0, 1, 2, 4, 8, 16, 32]) {
      recent = new RecentChanges({ by_name: ({ name }) => [name] })
      const first = recent.follow(database, 0).then(() => named(0).length)
      for (let turn = 0; turn < turns; turn++) await null
      const second = recent.follow(database, MANY - 1).then(() => named(MANY - 1).length)
      assert.deepEqual(await Promise.all([first, second]), [MANY, 1], `${turns} turns apart`)
    }
  })

  it('are those of the database that is asked about', async () => {
    await write('a', 'b')
    await recent.follow(database, 0)
    const other = dataOf('two')
    await other.put({ _id: 'b', name: 'x' })
    await recent.follow((await other.open()).database, 0)
    assert.deepEqual(named(0), ['b'])
    assert.equal(recent.hasChanged('a', 0), false)
  })

  it('are found out after a time when they could not be', async () => {
    const gone = (await dataOf('two').open()).database
    await test.ask('DELETE', '/two')
    await assert.rejects(recent.follow(gone, 0))
    await write('a')
    await recent.follow(database, 0)
    assert.deepEqual(named(0), ['a'])
  })

  it('have no keys that are long, nor those of design documents', async () => {
    const name = 'x'.repeat(2000)
    await data.put({ _id: 'long', name })
    await data.put({ _id: '_design/d', name: 'x' })
    await recent.follow(database, 0)
    assert.deepEqual(recent.idsOf('by_name', JSON.stringify(name), 0), [])
    assert.deepEqual(named(0), [])
    assert.deepEqual(
      [recent.hasChanged('long', 0), recent.hasChanged('_design/d', 0)],
      [true, true],
    )
  })
})
