/**
 * A child process whose primary was killed before it could say that it is there. It told of a broken pipe once, with a
 * stack, because Node writes to the pipe before any module of ours runs.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type ChildRole, childrenOf } from '../support/server-children.ts'
import { type RunningServer, startProcess } from '../support/start-process.ts'

const ROLES: readonly ChildRole[] = ['worker', 'replicator']

describe('a process without its primary', { timeout: 60_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'gurney-orphan-'))
  let server: RunningServer
  before(async () => {
    server = await startProcess(folder, ['--admin', 'admin:pass', '--workers', '1'])
  })
  after(async () => {
    if (server.process.exitCode === null && server.process.signalCode === null) await server.kill()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const role of ROLES) {
    it(`leaves quietly before it has begun, as a ${role}`, async () => {
      const [pid] = childrenOf(server.process.pid, role)
      assert.ok(pid !== undefined)
      const [, ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
      const env = { ...process.env, GURNEY_PROCESS_ROLE: role }
      // The pipe as a primary hands it over, and nobody at its other end.
      const child = spawn(process.execPath, args, {
        stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
        env: { ...env, NODE_UNIQUE_ID: '1', NODE_CHANNEL_FD: '3' },
      })
      const pipe = child.stdio[3] as Duplex
      pipe.destroy()
      let said = ''
      for (const stream of [child.stdout, child.stderr]) {
        stream?.on('data', chunk => {
          said += chunk
        })
      }
      const [code] = (await once(child, 'close')) as [number | null]
      assert.deepEqual({ code, said }, { code: 0, said: '' })
    })
  }

  it('is gone soon when the primary is killed, whatever it was writing', async () => {
    const pids = ROLES.flatMap(role => childrenOf(server.process.pid, role))
    assert.equal(pids.length, 2)
    // Writes are under way in all of them: one that waits for its threads would wait for ever.
    const url = server.url()
    const authorization = `Basic ${Buffer.from('admin:pass').toString('base64')}`
    const headers = { authorization, 'content-type': 'application/json' }
    assert.equal((await fetch(`${url}/db`, { method: 'PUT', headers })).status, 201)
    const write = async (): Promise<void> => {
      for (;;) await fetch(`${url}/db`, { method: 'POST', headers, body: '{}' })
    }
    const writing = Promise.allSettled(Array.from({ length: 8 }, write))
    await delay(300)
    server.process.kill('SIGKILL')
    // Its output closes when the last of them has gone.
    await once(server.process, 'close')
    await writing
    assert.doesNotMatch(server.log(), /EPIPE|Unhandled|\n {4}at /)
  })
})
