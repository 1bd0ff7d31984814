/** Guards what src/engine/embedded/lmdb-environment.ts relies on in the pinned `lmdb` package. */
import assert from 'node:assert/strict'
import { chmod, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { AssertionError } from '../../../../src/base/assert.ts'
import { isFailure } from '../../../../src/base/errors.ts'
import { EVERY_KEY } from '../../../../src/engine/embedded/embedded-limits.ts'
import {
  LMDB_KEY_BYTES_MAX,
  LmdbEnvironment,
} from '../../../../src/engine/embedded/lmdb-environment.ts'
import { ReservedKey } from '../../../../src/engine/embedded/reserved-keys.ts'

const b = (text: string): Buffer => Buffer.from(text)

describe('LmdbEnvironment', () => {
  let folder = ''
  let files = 0
  const fresh = (): string => path.join(folder, `${files++}.mdb`)

  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'gurney-lmdb-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('keeps reserved keys apart from the same bytes of a user', async () => {
    const environment = new LmdbEnvironment(fresh())
    await environment.write(writer => {
      writer.put(new ReservedKey(b('s')), b('ours'))
      writer.put(b('s'), b('theirs'))
      writer.put(Buffer.from([0]), b('zero'))
    })
    const rows = environment.read(view => view.scan(EVERY_KEY, { limit: 9 }))
    assert.deepEqual(rows.map(String).length, 2)
    assert.deepEqual(
      rows.map(row => row.value.toString()),
      ['zero', 'theirs'],
    )
    assert.equal(environment.read(view => view.get(new ReservedKey(b('s'))))?.toString(), 'ours')
    assert.equal(
      environment.read(view => view.firstByte(new ReservedKey(b('s')))),
      'o'.charCodeAt(0),
    )
    assert.equal(
      environment.read(view => view.firstByte(new ReservedKey(b('x')))),
      -1,
    )
    await environment.close()
  })

  it('lets go of the file when it is closed', { skip: process.platform !== 'linux' }, async () => {
    const file = fresh()
    const isMapped = async () => (await readFile('/proc/self/maps', 'utf8')).includes(file)
    const environment = new LmdbEnvironment(file)
    await environment.write(writer => writer.put(b('a'), b('1')))
    environment.read(view => view.get(b('a')))
    assert.equal(await isMapped(), true)
    await environment.close()
    assert.equal(await isMapped(), false)
  })

  it('opens while another transaction holds the write lock', async () => {
    const file = fresh()
    const first = new LmdbEnvironment(file)
    await first.write(writer => {
      writer.put(b('a'), b('1'))
      // Were a write lock taken to open, this would wait for itself forever.
      const second = new LmdbEnvironment(file)
      assert.equal(
        second.read(view => view.get(b('a'))),
        undefined,
      )
      second.closeNow()
    })
    assert.deepEqual(
      first.read(view => view.get(b('a'))),
      b('1'),
    )
    await first.close()
  })

  it('sees the newest commit at once, without waiting for a timer', async () => {
    const file = fresh()
    const writer = new LmdbEnvironment(file)
    const reader = new LmdbEnvironment(file)
    for (let i = 0; i < 20; i++) {
      reader.read(view => view.get(b('n')))
      await writer.write(tx => tx.put(b('n'), b(String(i))))
      assert.equal(String(reader.read(view => view.get(b('n')))), String(i))
    }
    await reader.close()
    await writer.close()
  })

  it('keeps one state through a read, also with reads inside it', async () => {
    const environment = new LmdbEnvironment(fresh())
    await environment.write(tx => tx.put(b('n'), b('1')))
    environment.read(view => {
      assert.equal(String(view.get(b('n'))), '1')
      environment.read(inner => assert.equal(String(inner.get(b('n'))), '1'))
      assert.equal(String(view.get(b('n'))), '1')
    })
    await environment.close()
  })

  it('reads large values also where a shorter file was mapped before', async () => {
    const LENGTH = 50_000
    const keyOf = (n: number): Buffer => Buffer.from([n])
    // Sizes that the kernel maps to the same address, one after the other: large maps begin at round ones.
    const counts = [84, 90, 96, 102, 108, 114, 120]
    const pathOf = (count: number): string => path.join(folder, `large-${count}.mdb`)
    for (const count of counts) {
      const environment = new LmdbEnvironment(pathOf(count))
      await environment.write(writer => {
        for (let n = 0; n < count; n++) writer.put(keyOf(n), Buffer.alloc(LENGTH, n))
      })
      await environment.close()
    }
    for (const count of counts) {
      const environment = new LmdbEnvironment(pathOf(count))
      environment.read(view => {
        const rows = view.scan({ start: keyOf(0), end: keyOf(255) }, { limit: 1000 })
        assert.equal(rows.length, count)
        for (const [n, { key, value }] of rows.entries()) {
          const expected = Buffer.alloc(LENGTH, n)
          assert.deepEqual([key, value.equals(expected)], [keyOf(n), true])
          assert.ok(view.get(keyOf(n))?.equals(expected), `${n} of ${count}`)
        }
        const two = { limit: 1000, bytesMax: LENGTH + 1 }
        assert.equal(view.scan({ start: keyOf(count - 5), end: keyOf(255) }, two).length, 2)
      })
      await environment.close()
    }
  })

  it('takes keys up to its limit', async () => {
    const environment = new LmdbEnvironment(fresh())
    const key = Buffer.alloc(LMDB_KEY_BYTES_MAX, 1)
    await environment.write(tx => tx.put(key, b('long')))
    assert.equal(String(environment.read(view => view.get(key))), 'long')
    await environment.close()
  })

  it('raises the alarm when a put failed and the commit went through all the same', async () => {
    const environment = new LmdbEnvironment(fresh())
    await assert.rejects(
      environment.write(tx => {
        tx.put(b('half'), b('1'))
        tx.put(Buffer.alloc(LMDB_KEY_BYTES_MAX + 1, 1), b('too long'))
      }),
      error => isFailure(error, 'storage_corrupt'),
    )
    await assert.rejects(
      environment.write(() => 1),
      error => isFailure(error, 'storage_corrupt'),
    )
    await environment.close()
  })

  it('forbids a write inside the work of another', async () => {
    const environment = new LmdbEnvironment(fresh())
    await assert.rejects(
      environment.write(() => {
        environment.write(() => 1)
      }),
      AssertionError,
    )
    await environment.close()
  })

  it('calls a file of something else corrupt, in one line', async () => {
    const file = fresh()
    await writeFile(file, 'this is not a database\n'.repeat(1000))
    assert.throws(
      () => new LmdbEnvironment(file),
      error => {
        assert.ok(isFailure(error, 'storage_corrupt'))
        assert.equal(String(error.detail.reason).includes('\n'), false)
        return true
      },
    )
  })

  it('calls a file that ends within its head corrupt', async () => {
    const file = fresh()
    const environment = new LmdbEnvironment(file)
    await environment.write(tx => tx.put(b('a'), b('1')))
    await environment.close()
    for (const bytes of [4096, 100, 1]) {
      await truncate(file, bytes)
      assert.throws(
        () => new LmdbEnvironment(file),
        error => isFailure(error, 'storage_corrupt'),
      )
    }
  })

  it('says that a file or its folder cannot be written', async t => {
    if (process.getuid?.() === 0) return t.skip('root may write anywhere')
    const file = fresh()
    await new LmdbEnvironment(file).close()
    await chmod(file, 0o400)
    assert.throws(
      () => new LmdbEnvironment(file),
      error => isFailure(error, 'storage_unwritable'),
    )
  })

  it('refuses work once it is closing', async () => {
    const environment = new LmdbEnvironment(fresh())
    const writing = environment.write(tx => tx.put(b('a'), b('1')))
    const closing = environment.close()
    assert.throws(
      () => environment.read(() => 1),
      error => isFailure(error, 'engine_busy'),
    )
    await assert.rejects(
      environment.write(() => 1),
      error => isFailure(error, 'engine_busy'),
    )
    await writing
    await closing
  })
})
