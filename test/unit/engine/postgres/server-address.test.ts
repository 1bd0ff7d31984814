/** Addresses of PostgreSQL servers: what is read, what is refused, and what is never shown. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import {
  isServerAddress,
  readServerAddress,
  withoutSecrets,
} from '../../../../src/engine/postgres/server-address.ts'

const ADDRESS = 'postgres://ann:s%40same@db.example:6543/health?sslmode=require'

describe('the address of a server', () => {
  it('is told from the names of other engines', () => {
    assert.ok(isServerAddress(ADDRESS) && isServerAddress('postgresql://host/db'))
    assert.ok(!isServerAddress('embedded') && !isServerAddress('/data/postgres'))
  })

  it('keeps what is for the driver and takes what is ours', () => {
    const read = readServerAddress(`${ADDRESS}&schema=two&connections=9&listen=off`)
    assert.equal(read.connectionString, ADDRESS)
    assert.equal(read.schema, 'two')
    assert.equal(read.connectionsMax, 9)
    assert.equal(read.mayListen, false)
    const usual = readServerAddress(ADDRESS)
    assert.deepEqual([usual.schema, usual.connectionsMax, usual.mayListen], ['gurney', 4, true])
  })

  it('is shown without its password', () => {
    assert.equal(withoutSecrets(ADDRESS), 'postgres://db.example:6543/health')
    assert.equal(withoutSecrets('embedded'), 'embedded')
    assert.doesNotMatch(withoutSecrets('postgres://ann:secret@ho st/x'), /secret/)
  })

  it('is refused with one line that shows no secret', () => {
    for (const wrong of [
      'schema=Robert"; DROP',
      'connections=0',
      'connections=many',
      'schema=1st',
    ]) {
      assert.throws(
        () => readServerAddress(`postgres://ann:secret@host/db?${wrong}`),
        thrown => {
          assert.ok(isFailure(thrown, 'config_invalid'))
          assert.doesNotMatch(String(thrown.detail.reason), /secret|\n/)
          return true
        },
      )
    }
  })
})
