import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { openFileSink } from '../../../src/base/log-sink.ts'

describe('BatchedSink', () => {
  let folder = ''
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gurney-log-'))
  })
  after(() => rm(folder, { recursive: true }))

  it('writes all lines in order, by size, by time and at the end', async () => {
    const path = join(folder, 'order.log')
    const sink = openFileSink(path, { flushBytes: 100, flushMs: 1 })
    const expected: string[] = []
    for (let n = 0; n < 2000; n++) {
      expected.push(`line ${n} é`)
      sink.write(`line ${n} é`)
      if (n % 500 === 0) await new Promise(resolve => setTimeout(resolve, 3))
    }
    await sink.close()
    assert.deepEqual((await readFile(path, 'utf8')).split('\n'), [...expected, ''])
    const again = openFileSink(path)
    again.write('appended')
    await again.close()
    assert.match(await readFile(path, 'utf8'), /line 1999 é\nappended\n$/)
  })

  it('drops lines past its bound and tells how many', async () => {
    const path = join(folder, 'dropped.log')
    const sink = openFileSink(path, { queueBytesMax: 1000, flushBytes: 10_000 })
    for (let n = 0; n < 500; n++) sink.write('0123456789')
    await sink.flush()
    sink.write('later')
    await sink.close()
    const lines = (await readFile(path, 'utf8')).trim().split('\n')
    const kept = lines.filter(line => line === '0123456789').length
    assert.ok(kept > 50 && kept < 100)
    assert.ok(lines.includes(`[log] ${500 - kept} lines were dropped: the log is too slow`))
    assert.ok(lines.includes('later'))
  })

  it('writes what waits when the process exits', async () => {
    const path = join(folder, 'exit.log')
    const module = new URL('../../../src/base/log-sink.ts', import.meta.url).href
    const program = `
      const { openFileSink } = await import(${JSON.stringify(module)})
      openFileSink(${JSON.stringify(path)}).write('last words')
      process.exit(3)`
    const node = promisify(execFile)(process.execPath, [
      '--import',
      'tsx',
      '--input-type=module',
      '-e',
      program,
    ])
    await assert.rejects(node, { code: 3 })
    assert.equal(await readFile(path, 'utf8'), 'last words\n')
  })
})
