/** Reading contacts, people, places and reports: by id, in lists, by words. */
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

const refused = async (url: string, status: number, error: string): Promise<void> => {
  assert.deepEqual(await get(url), { status, json: { code: status, error } }, url)
}

describe('one contact', () => {
  it('comes as it is stored', async () => {
    for (const [kind, id] of [
      ['contact', 'mother'],
      ['contact', 'clinic'],
      ['person', 'mother'],
      ['person', 'child'],
      ['place', 'clinic'],
      ['report', 'report'],
    ]) {
      const stored = await get(`/svc/${id}`)
      assert.deepEqual(await get(`/api/v1/${kind}/${id}`), stored)
      assert.deepEqual(await get(`/api/v1/${kind}/${id}?with_lineage=false`), stored)
      assert.deepEqual(await get(`/api/v1/${kind}/${id}?with_lineage=TRUE`), stored)
    }
  })

  it('is not found when it is not there, or of another kind', async () => {
    await refused('/api/v1/contact/nobody', 404, 'Contact not found')
    await refused('/api/v1/contact/report', 404, 'Contact not found')
    await refused('/api/v1/contact/settings', 404, 'Contact not found')
    await refused('/api/v1/person/clinic', 404, 'Person not found')
    await refused('/api/v1/place/mother', 404, 'Place not found')
    await refused('/api/v1/report/message', 404, 'Report not found')
    await refused('/api/v1/report/mother', 404, 'Report not found')
    await refused(`/api/v1/person/${'x'.repeat(5000)}`, 404, 'Person not found')
  })

  it('comes with whole parents and primary contacts', async () => {
    const { json } = await get('/api/v1/person/mother?with_lineage=true')
    const [district, center, clinic, nurse, mother] = await Promise.all(
      ['district', 'center', 'clinic', 'nurse', 'mother'].map(
        async id => (await get(`/svc/${id}`)).json,
      ),
    )
    assert.deepEqual(json, {
      ...mother,
      parent: {
        ...clinic,
        contact: mother,
        linked_docs: { neighbour: mother, lost: { _id: 'nobody' } },
        parent: { ...center, contact: nurse, parent: district },
      },
    })
  })

  it('leaves ids where parents are gone', async () => {
    const { json } = await get('/api/v1/contact/child?with_lineage=true')
    type Link = { _id: string; name?: string; parent?: Link }
    const parent = json.parent as Link
    assert.equal(parent.name, 'Household One')
    assert.equal(parent.parent?.name, 'Lake Center')
    assert.deepEqual(parent.parent?.parent, { _id: 'gone' })
  })

  it('at the top has its primary contact too', async () => {
    await app.store(
      { _id: 'top', type: 'district_hospital', name: 'Top', contact: { _id: 'head' } },
      { _id: 'head', type: 'person', name: 'Head', parent: { _id: 'top' } },
    )
    const { json } = await get('/api/v1/place/top?with_lineage=true')
    assert.equal((json.contact as Object_).name, 'Head')
    assert.deepEqual((json.contact as Object_).parent, { _id: 'top' })
    await app.ask('POST', '/api/v1/bulk-delete', {
      body: { docs: [{ _id: 'top' }, { _id: 'head' }] },
    })
  })

  it('of a report are its sender and whom it is about', async () => {
    const { json } = await get('/api/v1/report/report?with_lineage=true')
    const contact = json.contact as Object_
    assert.equal(contact.name, 'Nadia Nurse')
    assert.equal((contact.parent as Object_).name, 'Lake Center')
    const patient = json.patient as Object_
    assert.equal(patient._id, 'mother')
    assert.equal((patient.parent as Object_).name, 'Household One')
    assert.equal('place' in json, false)
  })
})

describe('lists', () => {
  const ids = (json: Object_): unknown[] =>
    (json.data as (string | Object_)[]).map(item => (typeof item === 'string' ? item : item._id))

  it('of ids by type are in the order of ids', async () => {
    const { json } = await get('/api/v1/contact/uuid?type=person')
    assert.deepEqual(json, { data: ['child', 'mother', 'nurse'], cursor: null })
  })

  it('of people and places hold whole documents', async () => {
    const people = await get('/api/v1/person?type=person')
    assert.deepEqual(ids(people.json), ['child', 'mother', 'nurse'])
    assert.deepEqual((people.json.data as Object_[])[1], (await get('/svc/mother')).json)
    const places = await get('/api/v1/place?type=clinic')
    assert.deepEqual([ids(places.json), places.json.cursor], [['clinic'], null])
  })

  it('go on where the cursor says, and end with null', async () => {
    const first = await get('/api/v1/person?type=person&limit=2')
    assert.deepEqual([ids(first.json), first.json.cursor], [['child', 'mother'], '2'])
    const second = await get('/api/v1/person?type=person&limit=2&cursor=2')
    assert.deepEqual([ids(second.json), second.json.cursor], [['nurse'], null])
    const exact = await get('/api/v1/contact/uuid?type=person&limit=3')
    assert.equal(exact.json.cursor, '3')
    const empty = await get('/api/v1/contact/uuid?type=person&limit=3&cursor=3')
    assert.deepEqual(empty.json, { data: [], cursor: null })
    assert.deepEqual((await get('/api/v1/person?type=person&cursor=99999')).json, {
      data: [],
      cursor: null,
    })
  })

  it('of documents by their ids leave out what is not there or of another kind', async () => {
    const contacts = await get('/api/v1/contact?ids=nurse,nobody,report&ids=mother')
    assert.deepEqual([ids(contacts.json), contacts.json.cursor], [['nurse', 'mother'], null])
    const first = await get('/api/v1/contact?ids=nobody,nurse,mother&limit=1')
    assert.deepEqual([ids(first.json), first.json.cursor], [['nurse'], '2'])
    assert.deepEqual(ids((await get('/api/v1/contact?type=clinic')).json), ['clinic'])
    assert.deepEqual(ids((await get('/api/v1/report?ids=report,message')).json), ['report'])
    assert.deepEqual((await get('/api/v1/report/uuid?form=visit,other')).json, {
      data: ['report'],
      cursor: null,
    })
    await refused('/api/v1/contact', 400, 'Either query param ids or type is required')
    await refused('/api/v1/report', 400, 'Query param ids is required')
    await refused('/api/v1/report/uuid?form=', 400, 'Invalid forms [[]].')
  })

  it('of summaries say the most needed of each', async () => {
    const post = async (kind: string, body: object) =>
      (await app.ask('POST', `/api/v1/${kind}/summary`, { body })).json as Object_[]
    const contacts = await post('contact', { ids: ['mother', 'nobody', 'report', 'clinic'] })
    assert.deepEqual(
      contacts.map(({ _id, name, lineage, contact }) => [_id, name, lineage, contact]),
      [
        ['mother', 'Mary Smith', ['clinic', 'center', 'district'], undefined],
        ['clinic', 'Household One', ['center', 'district'], 'mother'],
      ],
    )
    const [report] = await post('report', { ids: ['report', 'mother'] })
    assert.deepEqual(report?.subject, { value: '2001', type: 'reference' })
    assert.deepEqual([report?.form, report?.contact, report?.valid], ['visit', 'nurse', true])
    assert.deepEqual(await post('contact', { ids: [] }), [])
    assert.deepEqual(await post('contact', { ids: 'x' }), {
      code: 400,
      error: 'Invalid identifiers ["x"].',
    })
    assert.deepEqual(await post('report', {}), {
      code: 400,
      error: 'Invalid identifiers [undefined].',
    })
  })

  it('refuse types that are none, or of the other kind', async () => {
    const bad = (path: string, shown: string) =>
      refused(`/api/v1/${path}`, 400, `Invalid contact type [${shown}].`)
    await refused('/api/v1/contact/uuid', 400, 'Either query param freetext or type is required')
    await bad('person', 'undefined')
    await bad('place', 'undefined')
    await bad('person?type=', '""')
    await bad('person?type=person&type=clinic', '["person","clinic"]')
    await bad('person?type=clinic', 'clinic')
    await bad('place?type=person', 'person')
    await bad('place?type=castle', 'castle')
    await bad('contact/uuid?type=castle', 'castle')
    await bad('contact/uuid?type=', '""')
  })

  it('refuse limits and cursors that are none', async () => {
    for (const limit of ['0', '-1', '1.5', 'x', '', '1e3', 'null', '99999999999999999999']) {
      await refused(
        `/api/v1/person?type=person&limit=${limit}`,
        400,
        `The limit must be a positive integer: ["${limit}"].`,
      )
    }
    for (const cursor of ['', '-1', '1.5', 'x', 'null']) {
      await refused(
        `/api/v1/contact/uuid?type=person&cursor=${cursor}`,
        400,
        `The cursor must be a string or null for first page: ["${cursor}"].`,
      )
    }
  })
})

describe('searching by words', () => {
  const found = async (query: string, kind = 'contact'): Promise<unknown> => {
    const { status, json } = await get(`/api/v1/${kind}/uuid?${query}`)
    assert.equal(status, 200, JSON.stringify(json))
    return json.data
  }
  const text = (value: string): string => `freetext=${encodeURIComponent(value)}`

  it('finds beginnings of words, whatever the case', async () => {
    assert.deepEqual(await found(text('mar')), ['mother'])
    assert.deepEqual(await found(text('MARY')), ['mother'])
    assert.deepEqual(await found(text('smith')), ['child', 'mother'])
    assert.deepEqual(await found(text('mith')), [])
    assert.deepEqual(await found(text('household')), ['clinic'])
  })

  it('finds whole values by their name', async () => {
    assert.deepEqual(await found(text('name:mary smith')), ['mother'])
    assert.deepEqual(await found(text('name:mary')), [])
    assert.deepEqual(await found(text('patient_id:2001')), ['mother'])
    assert.deepEqual(await found(text('type:person')), [])
  })

  it('takes a type as well', async () => {
    assert.deepEqual(await found(`${text('smith')}&type=person`), ['child', 'mother'])
    assert.deepEqual(await found(`${text('household')}&type=person`), [])
  })

  it('shows a document once in a page, however many of its words match', async () => {
    await app.store({ _id: 'twice', type: 'person', name: 'Bananas banana bananarama' })
    assert.deepEqual(await found(text('banana')), ['twice'])
    const { json } = await get('/api/v1/contact/uuid?freetext=banana&limit=1')
    assert.deepEqual(json, { data: ['twice'], cursor: '1' })
  })

  it('works in every script', async () => {
    const names: [string, string, string][] = [
      ['nepali', 'माया देवी ९८४१', 'माया'],
      ['amharic', 'አበበ ቢቂላ', 'አበበ'],
      ['arabic', 'فاطمة الزهراء', 'الزه'],
      ['thai', 'เกษมศรี แก้วใจ', 'เกษ'],
      ['chinese', '王小明先生', '王小明'],
      ['korean', '김철수영', '김철수'],
      ['russian', 'Наталья Иванова', 'натал'],
      ['greek', 'Αλέξανδρος', 'αλέξ'],
      ['vietnamese', 'Nguyễn Thị'.normalize('NFD'), 'nguyễn'.normalize('NFC')],
      ['adlam', '𞤀𞤣𞤢𞤥𞤢', '𞤢𞤣𞤢𞤥'],
    ]
    await app.store(...names.map(([_id, name]) => ({ _id, type: 'person', name })))
    for (const [id, , term] of names) assert.deepEqual(await found(text(term)), [id], id)
    assert.deepEqual(await found(text('9841')), ['nepali'])
    assert.deepEqual(await found(text('๙๘๔๑')), [])
    // Accents are part of a word.
    assert.deepEqual(await found(text('αλεξ')), [])
    assert.deepEqual(await found(text('zoë')), ['child'])
    assert.deepEqual(await found(text('zoe')), [])
  })

  it('of reports looks into their fields and at who sent them', async () => {
    assert.deepEqual(await found(text('fever'), 'report'), ['report'])
    assert.deepEqual(await found(text('form:visit'), 'report'), ['report'])
    assert.deepEqual(await found(text('contact:nurse'), 'report'), ['report'])
    assert.deepEqual(await found(text('hello'), 'report'), [])
  })

  it('refuses what is too short or has blanks', async () => {
    const bad = (path: string, shown: string) =>
      refused(`/api/v1/${path}`, 400, `Invalid freetext [${shown}].`)
    await bad('contact/uuid?freetext=ma', '"ma"')
    await bad('contact/uuid?freetext=', '""')
    await bad('contact/uuid?freetext=mary%20smith', '"mary smith"')
    await bad('contact/uuid?freetext=abc&freetext=def', '["abc","def"]')
    await bad('report/uuid?freetext=ma&limit=2', '"ma"')
    await bad('report/uuid', 'undefined')
    assert.deepEqual(await found(text('x'.repeat(3000))), [])
  })
})
