/** Creating and changing people and places. */
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

const send = async (method: string, url: string, body: unknown) => {
  const { status, json } = await app.ask(method, `/api/v1/${url}`, {
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json' },
  })
  return { status, json: json as Object_ }
}

const stored = async (id: unknown): Promise<Object_> =>
  (await app.ask('GET', `/svc/${id}`)).json as Object_

const countAll = async (): Promise<number> =>
  ((await app.ask('GET', '/svc')).json as { doc_count: number }).doc_count

/** Each row: the body, the text it is refused with, and the status if it is not 400. Nothing is written. */
const refuses = async (
  method: string,
  url: string,
  rows: readonly (readonly [unknown, string, number?])[],
): Promise<void> => {
  const before = await countAll()
  for (const [body, error, status = 400] of rows) {
    const answer = await send(method, url, body)
    assert.deepEqual(answer, { status, json: { code: status, error } }, JSON.stringify(body))
  }
  assert.equal(await countAll(), before)
}

describe('POST people', () => {
  it('stores a person where it lives', async () => {
    const { status, json } = await send('POST', 'people', {
      name: 'Hannah',
      place: 'clinic',
      reported_date: '2020-01-02T03:04:05-03',
      anything: { else: 1 },
    })
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(json), ['ok', 'id', 'rev'])
    assert.deepEqual(await stored(json.id), {
      _id: json.id,
      _rev: json.rev,
      name: 'Hannah',
      type: 'person',
      reported_date: Date.UTC(2020, 0, 2, 6, 4, 5),
      anything: { else: 1 },
      parent: { _id: 'clinic', parent: { _id: 'center', parent: { _id: 'district' } } },
    })
  })

  it('makes the place too where it is new', async () => {
    const { json } = await send('POST', 'people', {
      _id: 'chosen',
      name: 'Ida',
      place: { name: 'New Home', type: 'clinic', parent: 'center' },
    })
    const person = await stored('chosen')
    assert.equal(json.id, 'chosen')
    const place = await stored((person.parent as Object_)._id)
    assert.equal(place.name, 'New Home')
    assert.deepEqual(place.parent, { _id: 'center', parent: { _id: 'district' } })
    assert.equal(typeof place.reported_date, 'number')
  })

  it('refuses what is wrong, and writes nothing then', async () => {
    await refuses('POST', 'people', [
      [{}, 'Request body is empty or Content-Type header was not set to application/json.'],
      [[1], 'Person must be an object.'],
      [{ type: 'clinic', name: 'x' }, 'Wrong type, this is not a person.'],
      [{ type: 'contact', contact_type: 'x', name: 'x' }, 'Wrong type, this is not a person.'],
      [{ sex: 'f' }, 'Person is missing a "name" property.'],
      [{ name: '', sex: 'f' }, 'Person is missing a "name" property.'],
      [{ name: 7 }, 'Property "name" must be a string.'],
      [{ name: 'x', reported_date: 'x' }, 'Reported date is invalid: x'],
      [
        { name: 'x', reported_date: '2020-02-31T00:00:00Z' },
        'Reported date is invalid: 2020-02-31T00:00:00Z',
      ],
      [{ name: 'x', place: 'nowhere' }, 'Failed to find place.', 404],
      [{ name: 'x', place: 'mother' }, 'Failed to find place.', 404],
      [
        { name: 'x', place: { _rev: '1-a' } },
        'Place must be a new object or string identifier (UUID).',
      ],
      [{ name: 'x', place: 5 }, 'Place must be a new object or string identifier (UUID).'],
      [
        { name: 'x', place: { type: 'clinic', parent: 'center' } },
        'Place  is missing a "name" property.',
      ],
      [{ _id: 'mother', name: 'x' }, 'Document update conflict.', 409],
      [{ _id: '_design/x', name: 'x' }, 'The id "_design/x" is not one of people or places.'],
      [{ _id: 'branding', name: 'x' }, 'The id "branding" is not one of people or places.'],
      [{ _id: 'form:x', name: 'x' }, 'The id "form:x" is not one of people or places.'],
    ])
  })
})

describe('POST places', () => {
  it('makes parents and a primary contact that are new', async () => {
    const { status, json } = await send('POST', 'places', {
      name: 'Home',
      type: 'clinic',
      parent: {
        name: 'Center',
        type: 'health_center',
        parent: { name: 'District', type: 'district_hospital' },
      },
      contact: { name: 'Head', phone: '+123456789' },
    })
    assert.equal(status, 200)
    const place = await stored(json.id)
    const contact = json.contact as { id: string }
    const person = await stored(contact.id)
    const parent = place.parent as { _id: string; parent: { _id: string } }
    assert.deepEqual(place.contact, { _id: contact.id, parent: { _id: json.id, parent } })
    assert.deepEqual(person.parent, { _id: json.id, parent })
    assert.equal(person.type, 'person')
    assert.equal((await stored(parent._id)).name, 'Center')
    assert.equal((await stored(parent.parent._id)).name, 'District')
    assert.equal(place._rev, json.rev)
  })

  it('keeps the id of a primary contact that is there', async () => {
    const { json } = await send('POST', 'places', {
      name: 'Home',
      type: 'clinic',
      parent: 'center',
      contact: 'mother',
    })
    assert.deepEqual(json.contact, { id: 'mother' })
    assert.equal((await stored(json.id)).contact, 'mother')
  })

  it('refuses what is wrong, and writes nothing then', async () => {
    const clinic = { _id: 'n', name: 'x', type: 'clinic', parent: 'center' }
    await refuses('POST', 'places', [
      [[1], 'Place must be an object.'],
      [{ _id: 'n', type: 'person', name: 'x' }, 'Wrong type, object n is not a place.'],
      [{ type: 'castle', name: 'x' }, 'Wrong type, object  is not a place.'],
      [{ ...clinic, name: undefined }, 'Place n is missing a "name" property.'],
      [{ ...clinic, reported_date: 'x' }, 'Reported date on place n is invalid: x'],
      [{ ...clinic, name: 3 }, 'Property "name" on place n must be a string.'],
      [{ ...clinic, parent: undefined }, 'Place n is missing a "parent" property.'],
      [{ ...clinic, parent: 'nowhere' }, 'Failed to find place.', 404],
      [
        { ...clinic, parent: 'district' },
        'clinic "n" should have one of the following parent types: "health_center".',
      ],
      [{ ...clinic, parent: { _id: 'stub' } }, 'Wrong type, object stub is not a place.'],
      [
        { ...clinic, parent: { name: 'y', type: 'health_center' } },
        'Place  is missing a "parent" property.',
      ],
      [{ ...clinic, contact: 7 }, 'Property "contact" on place n must be an object or string.'],
      [{ ...clinic, contact: 'nobody' }, 'Failed to find person.', 404],
      [{ ...clinic, contact: 'district' }, 'Failed to find person.', 404],
      [{ ...clinic, contact: { sex: 'f' } }, 'Person is missing a "name" property.'],
      [{ ...clinic, contact: { name: 'y', type: 'clinic' } }, 'Wrong type, this is not a person.'],
      [{ ...clinic, _id: 'clinic' }, 'Document update conflict.', 409],
    ])
  })
})

describe('POST places/{id}', () => {
  it('changes name, parent, contact and place_id only', async () => {
    const { json: made } = await send('POST', 'places', {
      name: 'A',
      type: 'clinic',
      parent: 'center',
    })
    const other = await send('POST', 'places', {
      name: 'B',
      type: 'health_center',
      parent: 'district',
    })
    const url = `places/${made.id}`
    const { status, json } = await send('POST', url, {
      name: 'Renamed',
      parent: other.json.id,
      contact: { name: 'New Head' },
      place_id: '77',
      type: 'person',
    })
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(json), ['id', 'rev'])
    const place = await stored(made.id)
    assert.deepEqual([place.name, place.place_id, place.type], ['Renamed', '77', 'clinic'])
    assert.deepEqual(place.parent, { _id: other.json.id, parent: { _id: 'district' } })
    const contact = place.contact as { _id: string; parent: Object_ }
    assert.deepEqual(contact.parent, { _id: made.id, parent: place.parent })
    assert.equal((await stored(contact._id)).name, 'New Head')
    await send('POST', url, { contact: 'mother' })
    assert.equal(((await stored(made.id)).contact as Object_)._id, 'mother')
  })

  it('refuses what is wrong', async () => {
    const none = 'One of the following fields are required: name, parent, contact, place_id'
    await refuses('POST', 'places/clinic', [
      [{ type: 'x' }, none],
      [{ name: null }, none],
      [{ name: 5 }, 'Property "name" on place clinic must be a string.'],
      [{ parent: 'nowhere' }, 'Failed to find place.', 404],
      [
        { parent: 'district' },
        'clinic "clinic" should have one of the following parent types: "health_center".',
      ],
      [{ contact: 'nobody' }, 'Failed to find person.', 404],
    ])
    await refuses('POST', 'places/mother', [[{ name: 'x' }, 'Failed to find place.', 404]])
    await refuses('POST', 'places/none', [[{ name: 'x' }, 'Failed to find place.', 404]])
  })
})

const DATE_TEXT =
  "Invalid reported_date. Expected format to be 'YYYY-MM-DDTHH:mm:ssZ', 'YYYY-MM-DDTHH:mm:ss.SSSZ', or a Unix epoch."

describe('POST person and place', () => {
  it('answer with what they stored', async () => {
    const { status, json } = await send('POST', 'person', {
      type: 'person',
      name: 'Strict',
      parent: 'clinic',
      reported_date: '2020-01-02T03:04:05.678Z',
      date_of_birth: '2000-01-01',
      extra: [1],
    })
    assert.equal(status, 200)
    assert.deepEqual(await stored(json._id), json)
    assert.deepEqual([json.type, json.contact_type], ['contact', 'person'])
    assert.equal(json.reported_date, Date.UTC(2020, 0, 2, 3, 4, 5, 678))
    assert.deepEqual(json.parent, {
      _id: 'clinic',
      parent: { _id: 'center', parent: { _id: 'district' } },
    })
    const place = await send('POST', 'place', {
      type: 'clinic',
      name: 'P',
      parent: 'center',
      contact: 'nurse',
    })
    assert.deepEqual(await stored(place.json._id), place.json)
    assert.deepEqual(place.json.contact, {
      _id: 'nurse',
      parent: { _id: 'center', parent: { _id: 'district' } },
    })
    const top = await send('POST', 'place', { type: 'district_hospital', name: 'T' })
    assert.equal('parent' in top.json, false)
  })

  it('refuse people that are wrong', async () => {
    const person = { type: 'person', name: 'x', parent: 'clinic' }
    await refuses('POST', 'person', [
      [[], 'Not a valid JSON object value.'],
      [{ ...person, type: undefined }, 'The [type] field must have a [string] value.'],
      [{ ...person, type: 1 }, 'The [type] field must have a [string] value.'],
      [{ ...person, name: ' ' }, 'The [name] field must have a [string] value.'],
      [{ ...person, parent: { _id: 'clinic' } }, 'The [parent] field must have a [string] value.'],
      [{ ...person, phone: 1 }, 'The [phone] field must have the type [string].'],
      [{ ...person, _id: 'x' }, 'The [_id] field must not be set.'],
      [{ ...person, _rev: '1-x' }, 'The [_rev] field must not be set.'],
      [{ ...person, reported_date: '2020-01-02T03:04:05+01' }, DATE_TEXT],
      [{ ...person, reported_date: {} }, DATE_TEXT],
      [{ ...person, date_of_birth: 'x' }, 'The [date_of_birth] field must have a [date] value.'],
      [{ ...person, type: 'clinic' }, '[clinic] is not a valid person type.'],
      [{ ...person, parent: 'nowhere' }, 'Parent contact [nowhere] not found.'],
      [{ ...person, parent: 'report' }, 'Parent contact [report] not found.'],
      [
        { ...person, parent: 'mother' },
        'Parent contact of type [person] is not allowed for type [person].',
      ],
    ])
  })

  it('refuse places that are wrong', async () => {
    const place = { type: 'clinic', name: 'x', parent: 'center' }
    await refuses('POST', 'place', [
      [{ ...place, type: 'person' }, '[person] is not a valid place type.'],
      [{ ...place, parent: undefined }, 'Place type [clinic] requires a parent contact.'],
      [{ ...place, parent: 3 }, 'The [parent] field must have the type [string].'],
      [
        { ...place, parent: 'district' },
        'Parent contact of type [district_hospital] is not allowed for type [clinic].',
      ],
      [
        { ...place, type: 'district_hospital' },
        'Place type [district_hospital] does not support having a parent contact.',
      ],
      [{ ...place, contact: 'nobody' }, 'Primary contact [nobody] not found.'],
      [{ ...place, contact: {} }, 'The [contact] field must have the type [string].'],
    ])
  })
})

describe('PUT person and place', () => {
  const made = async (kind: string, body: Object_): Promise<Object_> =>
    (await send('POST', kind, body)).json

  it('replace the document, and store ids only', async () => {
    const person = await made('person', { type: 'person', name: 'Old', parent: 'clinic', gone: 1 })
    const whole = (await app.ask('GET', `/api/v1/person/${person._id}?with_lineage=true`))
      .json as Object_
    const { gone: _, ...rest } = whole
    const { status, json } = await send('PUT', `person/${person._id}`, { ...rest, name: 'New' })
    assert.equal(status, 200, JSON.stringify(json))
    assert.deepEqual(json, { ...rest, name: 'New', _rev: json._rev })
    const after = await stored(person._id)
    assert.equal(after._rev, json._rev)
    assert.deepEqual([after.name, 'gone' in after], ['New', false])
    assert.deepEqual(after.parent, person.parent)
  })

  it('let places have another primary contact, or none', async () => {
    const place = await made('place', {
      type: 'clinic',
      name: 'P',
      parent: 'center',
      contact: 'nurse',
    })
    const url = `place/${place._id}`
    const other = await send('PUT', url, { ...place, contact: 'mother' })
    assert.equal(other.status, 200)
    assert.deepEqual((await stored(place._id)).contact, {
      _id: 'mother',
      parent: { _id: 'clinic', parent: { _id: 'center', parent: { _id: 'district' } } },
    })
    const { contact: _, ...bare } = other.json
    await send('PUT', url, bare)
    assert.equal('contact' in (await stored(place._id)), false)
  })

  it('refuse what must not change', async () => {
    const person = await made('person', { type: 'person', name: 'Old', parent: 'clinic' })
    const { _rev, reported_date: _date, ...undated } = person
    const changed = (names: string) => `The [${names}] fields must not be changed.`
    await refuses('PUT', `person/${person._id}`, [
      [[], 'Not a valid JSON object value.'],
      [{ ...person, _rev: undefined }, 'Valid _id, _rev, and type fields must be provided.'],
      [{ ...person, type: undefined }, 'Valid _id, _rev, and type fields must be provided.'],
      [{ ...person, _rev: '1-stale' }, changed('_rev')],
      [{ ...undated, _rev }, changed('reported_date')],
      [{ ...person, type: 'person', contact_type: 'x' }, changed('type, contact_type')],
      [{ ...person, name: undefined }, 'The [name] field must have a [string] value.'],
      [{ ...person, parent: { _id: 'center' } }, 'Parent lineage does not match.'],
      [{ ...person, parent: undefined }, 'Parent lineage does not match.'],
    ])
    const place = await made('place', { type: 'clinic', name: 'P', parent: 'center' })
    await refuses('PUT', `place/${place._id}`, [
      [{ ...place, name: 5 }, 'The [name] field must have a [string] value.'],
      [{ ...place, contact: 'nobody' }, 'No valid contact found for [nobody].'],
      [
        { ...place, contact: { _id: 'nurse', parent: { _id: 'clinic' } } },
        'The given contact lineage does not match the current lineage for that contact.',
      ],
    ])
    await refuses('PUT', 'person/clinic', [[person, 'Person record [clinic] not found.', 404]])
    await refuses('PUT', 'place/none', [[place, 'Place record [none] not found.', 404]])
  })
})

describe('POST and PUT report', () => {
  it('store a report of a form that is there', async () => {
    const { status, json } = await send('POST', 'report', {
      form: 'visit',
      contact: 'nurse',
      fields: { a: 1 },
    })
    assert.equal(status, 200)
    assert.deepEqual(await stored(json._id), json)
    assert.equal(json.type, 'data_record')
    assert.deepEqual(json.contact, {
      _id: 'nurse',
      parent: { _id: 'center', parent: { _id: 'district' } },
    })
    const changed = await send('PUT', `report/${json._id}`, {
      ...json,
      fields: { a: 2 },
      contact: 'mother',
    })
    assert.equal(changed.status, 200, JSON.stringify(changed.json))
    const after = await stored(json._id)
    assert.deepEqual(after.fields, { a: 2 })
    assert.equal((after.contact as Object_)._id, 'mother')
  })

  it('refuse what is wrong', async () => {
    const report = { form: 'visit', contact: 'nurse' }
    await refuses('POST', 'report', [
      [{ contact: 'nurse' }, 'The [form] field must have a [string] value.'],
      [{ form: 'visit' }, 'The [contact] field must have a [string] value.'],
      [{ ...report, form: 'none' }, 'Invalid form value [none].'],
      [{ ...report, contact: 'nobody' }, 'Contact [nobody] not found.'],
      [{ ...report, type: 'report' }, 'Report type must be "data_record".'],
      [{ ...report, _id: 'x' }, 'The [_id] field must not be set.'],
      [{ ...report, reported_date: 'x' }, DATE_TEXT],
    ])
    const made = (await send('POST', 'report', report)).json
    const { contact: _, ...dropped } = made
    await refuses('PUT', `report/${made._id}`, [
      [{ ...made, form: undefined }, 'Valid _id, _rev, form, and type fields must be provided.'],
      [{ ...made, _rev: '1-x' }, 'The [_rev] fields must not be changed.'],
      [dropped, 'A contact must be provided.'],
      [{ ...made, form: 'none' }, 'Invalid form value [none].'],
      [{ ...made, contact: 'nobody' }, 'Contact [nobody] not found.'],
    ])
    await refuses('PUT', 'report/message', [[made, 'Report record [message] not found.', 404]])
  })
})
