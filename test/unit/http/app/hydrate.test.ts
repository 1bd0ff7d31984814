/** Bulk deletion, hydration, contacts by phone. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { HIERARCHY, startApplication, type TestApplication } from '../../../support/application.ts'

type Object_ = Record<string, unknown>

let app: TestApplication
before(async () => {
  app = await startApplication()
  await app.store(...HIERARCHY)
})
after(() => app.close())

const get = async (url: string) => {
  const { status, json } = await app.ask('GET', url)
  return { status, json: json as Object_ }
}

describe('hydrate', () => {
  const items = (json: unknown): unknown[] =>
    (json as { id: unknown; doc?: Object_; error?: string }[]).map(({ id, doc, error }) => [
      id,
      error ?? doc?._id,
    ])
  const ids = (list: unknown): string =>
    `/api/v1/hydrate?doc_ids=${encodeURIComponent(JSON.stringify(list))}`

  it('answers each id in order, also repeated and unknown ones', async () => {
    const wanted = ['report', 'nobody', 'clinic', 'report', 'form:visit', 5]
    const expected = [
      ['report', 'report'],
      ['nobody', 'not_found'],
      ['clinic', 'clinic'],
      ['report', 'report'],
      ['form:visit', 'form:visit'],
      [5, 'not_found'],
    ]
    assert.deepEqual(items((await get(ids(wanted))).json), expected)
    const posted = await app.ask('POST', '/api/v1/hydrate', { body: { doc_ids: wanted } })
    assert.deepEqual(items(posted.json), expected)
    assert.deepEqual((await get(ids([]))).json, [])
  })

  it('gives what reading with lineage gives', async () => {
    const { json } = await get(ids(['mother', 'report', 'form:visit']))
    const [mother, report, form] = json as unknown as { doc: Object_ }[]
    assert.deepEqual(mother?.doc, (await get('/api/v1/contact/mother?with_lineage=true')).json)
    assert.deepEqual(report?.doc, (await get('/api/v1/report/report?with_lineage=true')).json)
    assert.deepEqual(form?.doc, (await get('/svc/form:visit')).json)
  })

  it('leaves a lone record without a form as it is, and hydrates it among others', async () => {
    const alone = (await get(ids(['message']))).json as unknown as { doc: Object_ }[]
    assert.deepEqual(alone[0]?.doc.contact, { _id: 'nurse' })
    const among = (await get(ids(['message', 'mother']))).json as unknown as {
      doc: Record<string, Object_>
    }[]
    assert.equal(among[0]?.doc.contact?.name, 'Nadia Nurse')
  })

  it('finds subjects by short code or id, places too', async () => {
    const base = { type: 'data_record', form: 'visit' }
    await app.store(
      { ...base, _id: 'r1', fields: { patient_uuid: 'child', place_id: '3001' } },
      { ...base, _id: 'r2', patient_id: 2001, place_id: 'nowhere' },
      { ...base, _id: 'r3', contact: 'nurse' },
    )
    const { json } = await get(ids(['r1', 'r2', 'r3']))
    const [r1, r2, r3] = (json as unknown as { doc: Record<string, Object_> }[]).map(
      ({ doc }) => doc,
    )
    assert.equal(r1?.patient?._id, 'child')
    assert.equal(r1?.place?._id, 'clinic')
    assert.equal(r2?.patient?._id, 'mother')
    assert.equal('place' in (r2 ?? {}), false)
    assert.equal(r3?.contact?.name, 'Nadia Nurse')
  })

  it('refuses what is no list', async () => {
    const expected = {
      code: 400,
      error: 'bad_request',
      reason: '`doc_ids` parameter must be a json array.',
    }
    for (const url of ['/api/v1/hydrate', '/api/v1/hydrate?doc_ids=mother', ids({ a: 1 })]) {
      assert.deepEqual(await get(url), { status: 400, json: expected })
    }
    const text = await app.ask('POST', '/api/v1/hydrate', {
      body: 'x',
      headers: { 'Content-Type': 'text/plain' },
    })
    assert.deepEqual(text.json, expected)
  })
})

describe('contacts by phone', () => {
  it('finds contacts with all that is around them', async () => {
    const lineage = (await get('/api/v1/contact/mother?with_lineage=true')).json
    for (const phone of ['+12025550123', '+1 (202) 555-0123', '2025550123']) {
      const { json } = await get(`/api/v1/contacts-by-phone?phone=${encodeURIComponent(phone)}`)
      assert.deepEqual(json, { ok: true, docs: [lineage] }, phone)
    }
    const posted = await app.ask('POST', '/api/v1/contacts-by-phone', {
      body: { phone: '+12025550123' },
    })
    assert.deepEqual(posted.json, { ok: true, docs: [lineage] })
  })

  it('says so where nobody has the number, or it is none', async () => {
    assert.deepEqual(await get('/api/v1/contacts-by-phone?phone=%2B12025550199'), {
      status: 404,
      json: { code: 404, error: 'not_found', reason: 'no matches found' },
    })
    const reason = '`phone` parameter is required and must be a valid phone number'
    for (const query of ['', '?phone=', '?phone=abc', '?phone=%2B1', '?phone=1&phone=2']) {
      assert.deepEqual(await get(`/api/v1/contacts-by-phone${query}`), {
        status: 400,
        json: { code: 400, error: 'bad_request', reason },
      })
    }
  })
})

describe('bulk delete', () => {
  const remove = (docs: unknown) => app.ask('POST', '/api/v1/bulk-delete', { body: { docs } })

  it('deletes in batches of a hundred and tells of each', async () => {
    const many = Array.from({ length: 250 }, (_, index) => ({
      _id: `m${index}`,
      type: 'x',
      n: index,
    }))
    await app.store(...many)
    const answer = await remove([...many.map(({ _id }) => ({ _id })), { _id: 'never' }])
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    assert.equal(answer.headers['content-type'], 'application/json')
    assert.equal(answer.headers['transfer-encoding'], 'chunked')
    const batches = answer.json as { ok: boolean; id: string; rev: string }[][]
    assert.deepEqual(
      batches.map(batch => batch.length),
      [100, 100, 50],
    )
    assert.ok(batches.flat().every(({ ok, rev }) => ok && rev.startsWith('2-')))
    const rev = batches[0]?.[0]?.rev
    const tombstone = await app.ask('GET', `/svc/m0?rev=${rev}`)
    assert.deepEqual(tombstone.json, { _id: 'm0', _rev: rev, type: 'x', n: 0, _deleted: true })
  })

  it('takes a deleted primary contact from its place, and tells of the place', async () => {
    await app.store(
      { _id: 'home', type: 'clinic', name: 'H', contact: { _id: 'head' } },
      { _id: 'head', type: 'person', name: 'N', parent: { _id: 'home' } },
      { _id: 'home2', type: 'clinic', name: 'H', contact: { _id: 'head2' } },
      { _id: 'head2', type: 'person', name: 'N', parent: { _id: 'home2' } },
    )
    const answer = await remove([{ _id: 'head' }, { _id: 'head2' }, { _id: 'home2' }])
    const [batch] = answer.json as { id: string }[][]
    assert.deepEqual(batch?.map(({ id }) => id).sort(), ['head', 'head2', 'home', 'home2'])
    assert.equal((await get('/svc/home')).json.contact, null)
    assert.equal((await get('/svc/home2')).status, 404)
  })

  it('of documents that others change meanwhile ends with all of them deleted', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `busy${index}`)
    await app.store(...ids.map(_id => ({ _id })))
    const changing = ids.map(async _id => {
      const { json } = await get(`/svc/${_id}`)
      await app.ask('PUT', `/svc/${_id}`, { body: { ...json, again: true } })
    })
    const answer = remove(ids.map(_id => ({ _id })))
    await Promise.all(changing)
    const results = ((await answer).json as { ok?: boolean }[][]).flat()
    assert.ok(
      results.every(({ ok }) => ok === true),
      JSON.stringify(results),
    )
  })

  it('leaves what only admins may change to admins', async () => {
    const docs = ['settings', '_design/svc-client', 'form:visit', 'plain'].map(_id => ({ _id }))
    await app.store({ _id: 'plain' })
    const answer = await app.ask('POST', '/api/v1/bulk-delete', {
      body: { docs },
      user: 'officer:secret',
    })
    const [batch] = answer.json as { id: string; ok?: boolean; error?: string; reason?: string }[][]
    assert.deepEqual(
      batch?.map(({ id, ok, error }) => [id, ok ?? error]),
      [
        ['plain', true],
        ['settings', 'forbidden'],
        ['_design/svc-client', 'forbidden'],
        ['form:visit', 'forbidden'],
      ],
    )
    assert.equal(batch?.at(-1)?.reason, 'You are not authorized to edit admin only docs')
    assert.equal((await get('/svc/settings')).status, 200)
  })

  it('and hydration never see local documents', async () => {
    await app.ask('PUT', '/svc/_local/mine', { body: { a: 1 } })
    assert.deepEqual((await remove([{ _id: '_local/mine' }])).json, [[]])
    const hydrated = await get('/api/v1/hydrate?doc_ids=%5B%22_local/mine%22,%22mother%22%5D')
    assert.deepEqual((hydrated.json as unknown as unknown[])[0], {
      id: '_local/mine',
      error: 'not_found',
    })
    assert.equal((await get('/svc/_local/mine')).status, 200)
  })

  it('of nothing is nothing, and bad lists are refused', async () => {
    assert.deepEqual((await remove([])).json, [])
    assert.deepEqual((await remove([{ _id: 'never' }])).json, [[]])
    const refusals: [unknown, string][] = [
      [undefined, 'Bulk delete: `docs` must be an array of objects.'],
      [{}, 'Bulk delete: `docs` must be an array of objects.'],
      [['mother'], 'Bulk delete: each of `docs` must have an `_id`.'],
      [[{ _id: 'a' }, { _id: 'b' }, { _id: 'a' }], 'Duplicate documents when deleting: a'],
    ]
    for (const [docs, error] of refusals) {
      const answer = await remove(docs)
      assert.deepEqual([answer.status, answer.json], [400, { code: 400, error }])
    }
  })
})
