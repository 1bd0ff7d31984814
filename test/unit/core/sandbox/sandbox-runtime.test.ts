import assert from 'node:assert/strict'
import { existsSync, statSync } from 'node:fs'
import { describe, it } from 'node:test'
import {
  disposeRuntime,
  findDeno,
  launchCommand,
  prepareRuntime,
} from '../../../../src/core/sandbox/sandbox-runtime.ts'

describe('sandbox runtime', () => {
  it('finds a binary and no shim', { skip: findDeno() === undefined && 'no Deno here' }, () => {
    assert.ok(statSync(findDeno() as string).size > 1_000_000)
  })

  it('prepares a folder with the program and removes it', () => {
    const runtime = prepareRuntime({ runtime: 'node', heapBytesMax: 64 * 1_048_576 })
    assert.ok(runtime)
    assert.equal(runtime.isClosed, false)
    assert.ok(existsSync(runtime.args.at(-1) as string))
    assert.ok(runtime.args.includes('--max-old-space-size=64'))
    assert.ok(runtime.args.some(arg => arg.endsWith('-permission') || arg === '--permission'))
    disposeRuntime(runtime)
    assert.ok(!existsSync(runtime.folder))
  })

  it('gives Deno no permission and no way out', { skip: !findDeno() && 'no Deno here' }, () => {
    const runtime = prepareRuntime({ runtime: 'deno', heapBytesMax: 1 })
    assert.ok(runtime)
    disposeRuntime(runtime)
    for (const flag of ['--no-prompt', '--no-remote', '--no-npm', '--no-config', '--no-lock']) {
      assert.ok(runtime.args.includes(flag), flag)
    }
    assert.ok(!runtime.args.some(arg => /^(-A|--allow)/.test(arg)))
  })

  it('lets a shell set the limits', { skip: process.platform === 'win32' && 'no shell' }, () => {
    const runtime = prepareRuntime({ runtime: 'node', heapBytesMax: 1 })
    assert.ok(runtime)
    disposeRuntime(runtime)
    const { file, args } = launchCommand(runtime, 10 * 1024)
    assert.equal(file, '/bin/sh')
    assert.match(args[1] as string, /ulimit -d 10 && exec/)
    assert.doesNotMatch(launchCommand(runtime, undefined).args[1] as string, /ulimit -d/)
  })
})
