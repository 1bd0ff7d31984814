import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isFailure } from '../../../../src/base/errors.ts'
import { lockDataFolder } from '../../../../src/engine/embedded/data-folder-lock.ts'

const MODULE = fileURLToPath(
  new URL('../../../../src/engine/embedded/data-folder-lock.ts', import.meta.url),
)

describe('lockDataFolder', () => {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'gurney-lock-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('is held once, names its holder, and can be had again when released', async () => {
    const lock = await lockDataFolder(folder)
    await assert.rejects(lockDataFolder(folder), error => {
      assert.ok(isFailure(error, 'storage_locked'))
      assert.equal(error.detail.subject, folder)
      if (lock.kind === 'flock') assert.equal(error.detail.pid, process.pid)
      return true
    })
    lock.release()
    const again = await lockDataFolder(folder)
    again.release()
  })

  it('ends with the process that held it, however that ends', async () => {
    const program = `import { lockDataFolder } from ${JSON.stringify(MODULE)}
      await lockDataFolder(${JSON.stringify(folder)})
      console.log('held')
      setInterval(() => {}, 1000)`
    const args = ['--import', 'tsx', '--input-type=module', '--eval', program]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = new Promise(resolve => child.on('close', resolve))
    await new Promise(resolve => child.stdout.once('data', resolve))
    await assert.rejects(lockDataFolder(folder), error => {
      assert.ok(isFailure(error, 'storage_locked'))
      assert.equal(error.detail.pid, child.pid)
      return true
    })
    child.kill('SIGKILL')
    await ended
    const lock = await lockDataFolder(folder)
    lock.release()
  })

  it('falls back to a file with the process id, and takes over that of a dead one', async () => {
    const without = async () => undefined
    await writeFile(path.join(folder, 'LOCK.pid'), '999999999\n')
    const lock = await lockDataFolder(folder, without)
    assert.equal(lock.kind, 'pid-file')
    lock.release()
    await writeFile(path.join(folder, 'LOCK.pid'), `${process.ppid}\n`)
    await assert.rejects(lockDataFolder(folder, without), error => {
      assert.ok(isFailure(error, 'storage_locked'))
      assert.equal(error.detail.pid, process.ppid)
      return true
    })
  })

  it('falls back where the file system does not know flock', async () => {
    const unsupported = async () => () => os.constants.errno.ENOSYS
    const lock = await lockDataFolder(folder, unsupported)
    assert.equal(lock.kind, 'pid-file')
    lock.release()
  })

  it('says when the folder cannot be written', async () => {
    await assert.rejects(lockDataFolder(path.join(folder, 'missing')), error => isFailure(error))
  })
})
