/** Exports over a real connection: clients that stop reading or go away, and what fails when the file has begun. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { after, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Log } from '../../../../src/base/log.ts'
import { startServer, type TestServer } from '../../../support/start-server.ts'

const REPORT_COUNT = 2000
/** All of them together are more than sockets hold between the two ends. */
const NOTE = 'x'.repeat(8000)

let server: TestServer
let base: string
const lines: string[] = []

before(async () => {
  const sink = { write: (line: string) => void lines.push(line) }
  server = await startServer({
    application: true,
    log: new Log({ level: 'warning', format: 'text', sink }),
  })
  base = await server.listen()
  for (let at = 0; at < REPORT_COUNT; at += 500) {
    const docs = Array.from({ length: 500 }, (_, index) => ({
      _id: `r-${at + index}`,
      type: 'data_record',
      form: 'visit',
      reported_date: at + index,
      fields: { note: NOTE },
    }))
    await server.ask('POST', '/svc/_bulk_docs', { body: { docs } })
  }
})
after(() => server.close())
beforeEach(() => {
  lines.length = 0
})

async function open(path: string): Promise<IncomingMessage> {
  const headers = { Authorization: `Basic ${Buffer.from('admin:pass').toString('base64')}` }
  const request = get(`${base}/api/v2/export/${path}`, { headers, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 200)
  return response
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of response) text += piece
  return text
}

describe('an export', () => {
  it('comes whole at any pace', async () => {
    const response = await open('reports')
    let text = ''
    for await (const piece of response) {
      text += piece
      if (text.length < 100_000) await delay(5)
    }
    const rows = text.split('\n')
    assert.equal(rows.length, REPORT_COUNT + 2)
    assert.match(String(rows[1]), new RegExp(`^"r-${REPORT_COUNT - 1}",`))
  })

  it('ends when its client goes away', async () => {
    for (const path of ['reports', 'messages', 'contacts']) {
      const response = await open(path)
      response.destroy()
    }
    await delay(100)
    assert.equal((await server.ask('GET', '/api/v2/export/user-devices')).status, 200)
    assert.deepEqual(lines, [])
  })

  it('fails as anything else does before it has begun', async () => {
    await server.ask('DELETE', '/svc-users-meta')
    const { status, json } = await server.ask('GET', '/api/v2/export/user-devices')
    assert.equal(status, 503)
    assert.deepEqual(json, { code: 503, error: 'Server error' })
  })

  it('reads no further than its client, and ends with a line that says when it is not whole', async () => {
    const response = await open('reports')
    await once(response, 'readable')
    // Nothing is read now; what the server sends piles up in sockets until it stops.
    await delay(500)
    assert.equal((await server.ask('DELETE', '/svc')).status, 200)
    const rows = (await textOf(response)).split('\n')
    assert.ok(rows.length < REPORT_COUNT, 'all of it was made though nobody read')
    const [mark, reason, end] = rows.slice(-3)
    assert.equal(mark, '--ERROR--')
    assert.match(String(reason), /^Error exporting data: The (database|store) does not exist$/)
    assert.equal(end, '')
    const told = lines.filter(line => line.includes('an export could not be finished'))
    assert.equal(told.length, 1)
  })
})
