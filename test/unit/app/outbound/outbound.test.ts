/** Pushes to another system, which is a small real server here: what is sent, when again, and what is remembered. */
import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { HIERARCHY } from '../../../support/application.ts'
import { type Json, type Programme, startProgramme } from '../../../support/programme.ts'
import { until } from '../../../support/replication-pair.ts'

describe('outbound pushes', () => {
  let programme: Programme
  let other: Server
  let status = 200
  const received: { url: string | undefined; headers: IncomingHttpHeaders; body: Json }[] = []

  before(async () => {
    other = createServer((request, response) => {
      let body = ''
      request.on('data', chunk => {
        body += chunk
      })
      request.on('end', () => {
        received.push({ url: request.url, headers: request.headers, body: JSON.parse(body) })
        response.writeHead(status).end('{}')
      })
    })
    await new Promise<void>(done => other.listen(0, '127.0.0.1', done))
    const { port } = other.address() as AddressInfo
    const destination = {
      base_url: `http://127.0.0.1:${port}/`,
      path: '/in/box',
      auth: { type: 'basic', username: 'us', password_key: 'them' },
    }
    programme = await startProgramme({
      transitions: { mark_for_outbound: true },
      outbound: {
        referral: {
          relevant_to: 'doc.type === "data_record" && doc.form === "REF"',
          destination,
          mapping: {
            id: 'doc._id',
            'patient.name': { path: 'doc.patient.name' },
            'patient.age': { path: 'doc.patient.age', optional: true },
            urgent: { expr: 'doc.fields.weeks > 30' },
          },
        },
        nightly: {
          relevant_to: 'doc.form === "NIGHT"',
          destination,
          mapping: { id: 'doc._id' },
          cron: '0 2 * * *',
        },
        throwing: { relevant_to: 'doc.x.y.z', destination, mapping: {} },
      },
    })
    await programme.application.server.application?.credentials.set('them', 'secret')
    await programme.store(...HIERARCHY)
  })
  after(async () => {
    await programme.close()
    other.close()
  })

  const report = (_id: string, form = 'REF', weeks = 31): Json => ({
    _id,
    type: 'data_record',
    form,
    fields: { patient_id: '2001', weeks },
    reported_date: programme.nowMs,
  })
  const taskOf = (id: string) =>
    programme.application.ask('GET', `/svc-sentinel/${encodeURIComponent(`task:outbound:${id}`)}`)
  const isDone = async (id: string) => (await taskOf(id)).status === 404

  it('send what is mapped, with the credentials', async () => {
    await programme.store(report('ref1'))
    await until('it is pushed', () => received.length === 1 && isDone('ref1'))
    const [sent] = received
    assert.equal(sent?.url, '/in/box')
    assert.equal(
      sent?.headers.authorization,
      `Basic ${Buffer.from('us:secret').toString('base64')}`,
    )
    assert.deepEqual(sent?.body, { id: 'ref1', patient: { name: 'Mary Smith' }, urgent: true })
    const info = await programme.info('ref1')
    const [task] = info.completed_tasks as Json[]
    assert.equal(task?.name, 'referral')
    assert.match(String(task?.hash), /^[0-9a-f]{64}$/)
  })

  it('do not send the same content again', async () => {
    await programme.put({ ...(await programme.get('ref1')), read: true })
    await until('the queue is empty', () => isDone('ref1'))
    assert.equal(received.length, 1)
    const document = await programme.get('ref1')
    await programme.put({ ...document, fields: { patient_id: '2001', weeks: 3 } })
    await until('it is pushed', () => received.length === 2)
    assert.equal(received[1]?.body.urgent, false)
  })

  it('stay queued while the other side does not take them, and are tried again', async () => {
    await until('the queue is empty', () => isDone('ref1'))
    status = 503
    await programme.store(report('ref2'))
    await until('it was tried', () => received.length === 3)
    await programme.background.runRegular()
    const { json } = await taskOf('ref2')
    const { type, doc_id: id, queue } = json as Json
    assert.deepEqual(
      { type, id, queue },
      { type: 'task:outbound', id: 'ref2', queue: ['referral'] },
    )
    status = 200
    await programme.background.runRegular()
    assert.equal(await isDone('ref2'), true)
    assert.equal(received.at(-1)?.body.id, 'ref2')
  })

  it('wait for their time', async () => {
    const count = received.length
    await programme.store(report('night', 'NIGHT'))
    await programme.background.runRegular()
    assert.equal(received.length, count)
    programme.nowMs = new Date(programme.nowMs).setHours(26, 1, 0, 0)
    await programme.background.runRegular()
    assert.equal(received.at(-1)?.body.id, 'night')
    assert.equal(await isDone('night'), true)
  })

  it('of documents that are gone are given up', async () => {
    status = 500
    await programme.store(report('ref3'))
    await programme.background.runRegular()
    const { _rev } = await programme.get('ref3')
    await programme.application.ask('DELETE', `/svc/ref3?rev=${_rev}`)
    await programme.background.runRegular()
    assert.equal(await isDone('ref3'), true)
  })
})
