/** The stored formats: state, journal, file names, and how errors of the system are named. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { it } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import {
  appendJournal,
  clearJournal,
  readJournal,
} from '../../../../src/engine/embedded/journal.ts'
import { LmdbEnvironment } from '../../../../src/engine/embedded/lmdb-environment.ts'
import { commitFailure, storageFailure } from '../../../../src/engine/embedded/storage-errors.ts'
import { parseStoreFile } from '../../../../src/engine/embedded/store-files.ts'
import { decodeState, encodeState } from '../../../../src/engine/embedded/store-state.ts'

const b = (text: string): Buffer => Buffer.from(text)

it('a state comes back as it was encoded; other bytes are corrupt', () => {
  for (const kind of ['live', 'journaling', 'moved', 'deleted'] as const) {
    const state = { kind, generation: 2 ** 40 + 7, pid: 4_000_000_000 }
    assert.deepEqual(decodeState(encodeState(state), 'file'), state)
  }
  for (const bytes of [b(''), b('L'), b('X0000000000')]) {
    assert.throws(
      () => decodeState(bytes, 'file'),
      error => isFailure(error, 'storage_corrupt'),
    )
  }
})

it('journal entries keep their order, keys and ranges, until they are cleared', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'gurney-journal-'))
  const environment = new LmdbEnvironment(path.join(folder, 'x.mdb'))
  const touched = [{ key: b('k') }, { range: { start: b(''), end: Buffer.alloc(1916, 0xff) } }]
  await environment.write(writer => {
    assert.equal(appendJournal(writer, touched), 0)
    for (let i = 1; i < 300; i++) assert.equal(appendJournal(writer, [{ key: b(`${i}`) }]), i)
  })
  const entries = environment.read(view => readJournal(view, -1, 2))
  assert.deepEqual(
    entries.map(entry => entry.number),
    [0, 1],
  )
  assert.deepEqual(entries[0]?.touched, touched)
  const rest = environment.read(view => readJournal(view, 297, 10))
  assert.deepEqual(
    rest.map(entry => entry.number),
    [298, 299],
  )
  assert.equal(await environment.write(writer => clearJournal(writer, 100)), false)
  assert.equal(await environment.write(writer => clearJournal(writer, 1000)), true)
  assert.deepEqual(
    environment.read(view => readJournal(view, -1, 9)),
    [],
  )
  await environment.close()
  await rm(folder, { recursive: true })
})

it('only names of our own are files of stores', () => {
  assert.deepEqual(parseStoreFile('a-b_1.12.mdb'), { id: 'a-b_1', generation: 12 })
  for (const name of [
    'catalog.mdb',
    'a.0.mdb',
    'a.1.mdb-lock',
    'A.1.mdb',
    'a.1.mdb.bak',
    '.1.mdb',
    'LOCK',
  ]) {
    assert.equal(parseStoreFile(name), undefined, name)
  }
})

it('errors of the system have codes of ours', () => {
  const withCode = (code: unknown) => Object.assign(new Error('first line\nsecond'), { code })
  const cases = {
    ENOSPC: 'storage_full',
    EDQUOT: 'storage_full',
    EFBIG: 'storage_full',
    EROFS: 'storage_unwritable',
  }
  for (const [name, code] of Object.entries(cases)) {
    assert.equal(storageFailure(withCode(name), 'x').code, code)
    const number = (os.constants.errno as Record<string, number>)[name]
    assert.equal(storageFailure(withCode(number), 'x').code, code)
  }
  assert.equal(storageFailure(withCode(-30793), 'x').code, 'storage_corrupt')
  assert.equal(storageFailure(withCode('EWHAT'), 'x').code, 'unexpected')
  assert.equal(storageFailure(withCode('ENOSPC'), 'x').detail.reason, 'first line')
  const short = withCode(os.constants.errno.EIO)
  assert.equal(commitFailure(short, '/x/y', () => 1000).code, 'storage_full')
  assert.equal(commitFailure(short, '/x/y', () => 1e12).code, 'storage_unwritable')
})
