/** Accounts that follow from contacts, and the housekeeping of the application's databases. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { purgeDatabaseName } from '../../../../src/app/offline-users/purged-documents.ts'
import { HIERARCHY } from '../../../support/application.ts'
import { type Json, type Programme, startProgramme } from '../../../support/programme.ts'

const DAY = 86_400_000

describe('users and upkeep', () => {
  let programme: Programme
  before(async () => {
    programme = await startProgramme({
      transitions: { create_user_for_contacts: true },
      token_login: { enabled: true, message: 'Welcome' },
      app_url: 'https://app.example.org',
      purge: {
        fn: `function (userCtx, contact, reports, messages) {
          return reports.filter(function (r) { return r.reported_date < 1650000000000 })
            .map(function (r) { return r._id }).concat(['mother']);
        }`,
        cron: '0 3 * * *',
      },
    })
    await programme.store(...HIERARCHY)
  })
  after(() => programme.close())

  const ask = (method: string, path: string, body?: unknown) =>
    programme.application.ask(method, path, body === undefined ? {} : { body })
  const accounts = async (): Promise<Json[]> => {
    const { json } = await ask('GET', '/_users/_all_docs?include_docs=true')
    return (json as { rows: { doc: Json }[] }).rows.map(({ doc }) => doc)
  }

  it('make an account for a contact that asks for one, once', async () => {
    const parent = { _id: 'center', parent: { _id: 'district' } }
    const made = await programme.put({
      _id: 'chw1',
      type: 'person',
      name: 'Élodie Chw',
      phone: '+12025550177',
      role: 'chw',
      parent,
      user_for_contact: { create: 'true' },
    })
    assert.deepEqual(made.user_for_contact, { create: 'false' })
    const own = (await accounts()).filter(({ contact_id: id }) => id === 'chw1')
    assert.equal(own.length, 1)
    assert.match(String(own[0]?.name), /^elodie-chw-\d{4}$/)
    assert.deepEqual(own[0]?.facility_id, ['center'])
    await programme.store({ ...made, user_for_contact: { create: 'true' } })
    assert.equal((await accounts()).filter(({ contact_id: id }) => id === 'chw1').length, 1)
  })

  it('tell why an account cannot be made', async () => {
    const parent = { _id: 'center', parent: { _id: 'district' } }
    const made = await programme.put({
      _id: 'chw2',
      type: 'person',
      name: 'No Phone',
      role: 'chw',
      parent,
      user_for_contact: { create: 'true' },
    })
    const wish = made.user_for_contact as Json
    assert.equal(wish.create, 'error')
    assert.match(JSON.stringify(wish.error), /phone/)
  })

  it('replace the user of an account', async () => {
    const [former] = (await accounts()).filter(({ contact_id: id }) => id === 'chw1')
    const parent = { _id: 'center', parent: { _id: 'district' } }
    const person = { type: 'person', name: 'Next One', phone: '+12025550178', parent }
    await programme.store({ _id: 'chw3', ...person })
    const replace = { [String(former?.name)]: { status: 'READY', replacement_contact_id: 'chw3' } }
    const old = await programme.get('chw1')
    const after = await programme.put({ ...old, user_for_contact: { replace } })
    const wish = (after.user_for_contact as { replace: Record<string, Json> }).replace
    assert.equal(wish[String(former?.name)]?.status, 'COMPLETE')
    const left = await accounts()
    assert.equal(left.filter(({ contact_id: id }) => id === 'chw1').length, 0)
    const [next] = left.filter(({ contact_id: id }) => id === 'chw3')
    assert.deepEqual(next?.roles, ['chw'])
    assert.deepEqual(next?.facility_id, ['center'])
  })

  it('forget about documents that are gone', async () => {
    await programme.store({ _id: 'gone', type: 'data_record' })
    const { _rev } = await programme.get('gone')
    assert.equal((await ask('DELETE', `/svc/gone?rev=${_rev}`)).status, 200)
    await programme.settled()
    assert.equal((await ask('GET', '/svc-sentinel/gone-info')).status, 200)
    await programme.background.runRegular()
    assert.equal((await ask('GET', '/svc-sentinel/gone-info')).status, 404)
    const { json } = await ask('GET', '/svc-sentinel/_local/background-seq')
    assert.equal(typeof (json as Json).value, 'string')
  })

  it('gather telemetry of all users at night', async () => {
    await ask('PUT', '/svc-user-rita-meta')
    const docs = [
      { _id: 'telemetry-2026-3-rita', type: 'telemetry' },
      { _id: 'feedback-2026-rita', type: 'feedback', meta: { time: 1 } },
      { _id: 'read:report:x' },
    ]
    await ask('POST', '/svc-user-rita-meta/_bulk_docs', { docs })
    programme.nowMs = new Date(programme.nowMs + DAY).setHours(2, 5, 0, 0)
    await programme.background.runRegular()
    for (const { _id } of docs.slice(0, 2)) {
      assert.equal((await ask('GET', `/svc-users-meta/${_id}`)).status, 200)
    }
    const { json } = await ask('GET', '/svc-user-rita-meta/_all_docs')
    assert.deepEqual(
      (json as { rows: { id: string }[] }).rows.map(({ id }) => id),
      ['read:report:x'],
    )
  })

  it('list for each set of roles what devices no longer keep, at its time', async () => {
    const old = { type: 'data_record', form: 'visit', fields: { patient_id: '2001' } }
    await programme.store({ _id: 'old', ...old, reported_date: 1_600_000_000_000 })
    const path = `/${purgeDatabaseName(['chw'])}`
    assert.equal((await ask('GET', `${path}/purged:old`)).status, 404)
    programme.nowMs = new Date(programme.nowMs).setHours(3, 5, 0, 0)
    await programme.background.runRegular()
    const { json } = await ask('GET', `${path}/_all_docs`)
    assert.deepEqual(
      (json as { rows: { id: string }[] }).rows.map(({ id }) => id),
      ['purged:old'],
    )
    await programme.store({ ...(await programme.get('old')), reported_date: programme.nowMs })
    programme.nowMs += DAY
    await programme.background.runRegular()
    assert.equal((await ask('GET', `${path}/purged:old`)).status, 404)
  })
})
