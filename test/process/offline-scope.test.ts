/**
 * What an offline user sees follows the hierarchy at once, in every worker: a patient is moved out of his area and back
 * through whichever worker answers, and the very next requests, whoever gets them, know it.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { startProcess } from '../support/start-process.ts'

const ROUNDS = 6
const READERS = 8
const PASSWORD = 'Secret1.x9'

const place = (_id: string) => ({ _id, type: 'health_center', name: _id, parent: { _id: 'top' } })
const DOCUMENTS = [
  { _id: 'top', type: 'district_hospital', name: 'top' },
  place('near'),
  place('far'),
  { _id: 'nurse', type: 'person', name: 'nurse', parent: { _id: 'near' } },
  { _id: 'report', type: 'data_record', form: 'f', fields: { patient_id: '77' } },
]

it('workers agree at once about what an offline user sees', { timeout: 180_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gurney-offline-'))
  const server = await startProcess(folder, ['--admin', 'admin:pass', '--workers', '2'])
  const ask = async (method: string, path: string, body?: object, user = 'admin:pass') => {
    const response = await fetch(new URL(path, server.url()), {
      method,
      headers: {
        Authorization: `Basic ${Buffer.from(user).toString('base64')}`,
        'Content-Type': 'application/json',
        // A connection each, so that both workers are asked.
        Connection: 'close',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
  try {
    assert.equal((await ask('POST', '/svc/_bulk_docs', { docs: DOCUMENTS })).status, 201)
    const rita = { username: 'rita', password: PASSWORD, type: 'chw', place: 'near' }
    const made = await ask('POST', '/api/v1/users', { ...rita, contact: 'nurse' })
    assert.equal(made.status, 200, JSON.stringify(made.json))
    let rev: unknown
    for (let round = 0; round < ROUNDS; round++) {
      const isNear = round % 2 === 0
      const parent = { _id: isNear ? 'near' : 'far', parent: { _id: 'top' } }
      const patient = { type: 'person', name: 'p', patient_id: '77', parent }
      const { status, json } = await ask('PUT', '/svc/patient', { ...patient, _rev: rev })
      assert.equal(status, 201, JSON.stringify(json))
      rev = json.rev
      const reads = Array.from({ length: READERS }, (_, index) =>
        ask('GET', index % 2 === 0 ? '/svc/report' : '/svc/patient', undefined, `rita:${PASSWORD}`),
      )
      const found = (await Promise.all(reads)).map(read => read.status)
      assert.deepEqual(found, Array(READERS).fill(isNear ? 200 : 403), `round ${round}`)
    }
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
