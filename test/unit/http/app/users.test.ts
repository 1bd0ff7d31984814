/** Users over HTTP: made one by one and in tables, changed, read, deleted; and what they may do with themselves. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  as,
  HIERARCHY,
  startApplication,
  type TestApplication,
} from '../../../support/application.ts'
import type { AskOptions } from '../../../support/start-server.ts'

type Json = Record<string, unknown>

const PASSWORD = 'Secret1.x9'

let app: TestApplication
before(async () => {
  app = await startApplication({ svc_httpd_auth: { secret: 'sessions need one' } })
  await app.store(...HIERARCHY)
})
after(() => app.close())

const post = async (url: string, body: unknown, options: AskOptions = {}) => {
  const { status, json } = await app.ask('POST', url, { body, ...options })
  return { status, json: json as Json }
}
const csv = (text: string, options: AskOptions = {}) =>
  post('/api/v2/users', text, { ...options, headers: { 'Content-Type': 'text/csv' } })
const get = async (url: string, user?: string) => {
  const { status, json } = await app.ask('GET', url, user === undefined ? {} : { user })
  return { status, json: json as Json }
}
const online = (username: string, more: Json = {}): Json => ({
  username,
  password: PASSWORD,
  roles: ['program_officer'],
  ...more,
})
const offline = (username: string, more: Json = {}): Json => ({
  username,
  password: PASSWORD,
  type: 'chw',
  place: 'center',
  contact: { name: `Person ${username}` },
  ...more,
})
const docCount = async (database: string): Promise<number> =>
  (await get(`/${database}`)).json.doc_count as number

describe('POST /api/v1/users', () => {
  it('makes an account that logs in at once', async () => {
    const { status, json } = await post('/api/v1/users', online('paul', { fullname: 'Paul P' }))
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(json).sort(), ['user', 'user-settings'])
    assert.equal((json.user as Json).id, 'org.svc.user:paul')
    const session = await get('/_session', `paul:${PASSWORD}`)
    const context = session.json.userCtx as Json
    assert.deepEqual(context.roles, ['program_officer', 'mm-online'])
    const settings = (await get('/svc/org.svc.user:paul')).json
    assert.deepEqual(
      [settings.type, settings.fullname, settings.roles],
      ['user-settings', 'Paul P', ['program_officer', 'mm-online']],
    )
    const account = (await get('/_users/org.svc.user:paul')).json
    assert.equal(account.password_change_required, true)
    assert.equal(account.password, undefined)
  })

  it('makes a place and a person with the user', async () => {
    const place = { name: 'New Center', type: 'health_center', parent: 'district' }
    const given = offline('nina', {
      place,
      contact: { name: 'Nina', user_for_contact: { create: true } },
    })
    const { status, json } = await post('/api/v1/users', given)
    assert.equal(status, 200, JSON.stringify(json))
    const contact = json.contact as Json
    const person = (await get(`/svc/${contact.id}`)).json
    assert.equal(person._rev, contact.rev)
    assert.equal(person.user_for_contact, undefined)
    const account = (await get('/_users/org.svc.user:nina')).json
    assert.deepEqual(account.roles, ['chw'])
    assert.equal(account.contact_id, contact.id)
    const [facility] = account.facility_id as string[]
    const made = (await get(`/svc/${facility}`)).json
    assert.deepEqual(made.parent, { _id: 'district' })
    assert.equal((made.contact as Json)._id, contact.id)
    assert.deepEqual(person.parent, { _id: facility, parent: { _id: 'district' } })
  })

  it('takes a person and a place that exist', async () => {
    const given = offline('olga', { place: 'center', contact: 'mother' })
    const { status, json } = await post('/api/v1/users', given)
    assert.equal(status, 200)
    const mother = (await get('/svc/mother')).json
    assert.deepEqual(json.contact, { id: 'mother', rev: mother._rev })
    assert.equal(((await get('/svc/center')).json.contact as Json)._id, 'nurse')
  })

  const refused: readonly [string, Json, number, unknown][] = [
    ['nothing', {}, 400, 'Missing required fields: username, password, type or roles'],
    [
      'no roles',
      { username: 'x', password: PASSWORD },
      400,
      'Missing required fields: type or roles',
    ],
    [
      'an offline user without place',
      { username: 'x', password: PASSWORD, type: 'chw' },
      400,
      'Missing required fields: place, contact',
    ],
    [
      'empty values',
      offline('x', { place: { name: '' }, contact: [] }),
      400,
      'Missing required fields: place, contact',
    ],
    [
      'a short password',
      online('x', { password: 'Ab1.' }),
      400,
      'The password must be at least 8 characters long.',
    ],
    [
      'a weak password',
      online('x', { password: 'password' }),
      400,
      'The password is too easy to guess. Include a range of types of characters to increase the score.',
    ],
    [
      'a bad name',
      online('X y'),
      400,
      'Invalid user name. Valid characters are lower case letters, numbers, underscore (_), and hyphen (-).',
    ],
    [
      'a name of the server',
      online('_x'),
      400,
      'Invalid user name. Valid characters are lower case letters, numbers, underscore (_), and hyphen (-).',
    ],
    ['a taken name', online('worker'), 400, 'Username "worker" already taken.'],
    ['an unknown place', offline('x', { place: 'nowhere' }), 404, 'Failed to find place.'],
    ['a place that is a person', offline('x', { place: 'mother' }), 404, 'Failed to find place.'],
    [
      'a place of a wrong type',
      offline('x', { place: { name: 'P', type: 'clinic', parent: 'district' } }),
      400,
      /should have one of the following parent types/,
    ],
    ['an unknown person', offline('x', { contact: 'nobody' }), 404, 'Failed to find person.'],
    [
      'a person who is a place',
      offline('x', { contact: 'clinic' }),
      400,
      'Wrong type, contact is not a person.',
    ],
    [
      'a person elsewhere',
      offline('x', { place: 'clinic', contact: 'nurse' }),
      400,
      'Contact is not within place.',
    ],
    [
      'a person without a name',
      offline('x', { contact: { sex: 'f' } }),
      400,
      'Person is missing a "name" property.',
    ],
    [
      'a person who exists as a new one',
      offline('x', { contact: { _id: 'mother', name: 'M' } }),
      409,
      'Document update conflict.',
    ],
    [
      'roles of the server',
      online('x', { roles: ['_admin'] }),
      400,
      'System roles cannot be given.',
    ],
  ]
  for (const [what, given, status, text] of refused) {
    it(`refuses ${what} and leaves nothing behind`, async () => {
      const before = [await docCount('svc'), await docCount('_users')]
      const answer = await post('/api/v1/users', given)
      assert.equal(answer.status, status, JSON.stringify(answer.json))
      const { error } = answer.json
      const told = typeof error === 'object' ? (error as Json).message : error
      if (text instanceof RegExp) assert.match(String(told), text)
      else assert.equal(told, text)
      assert.equal(answer.json.code, status)
      assert.deepEqual([await docCount('svc'), await docCount('_users')], before)
    })
  }

  it('takes everything back when the account cannot be written', async () => {
    const rule = { section: 'svc_httpd_auth', key: 'password_regexp' }
    app.server.configuration.apply({ ...rule, value: '[{"^[^Z]*$", "No Z."}]' })
    const before = [await docCount('svc'), await docCount('_users')]
    const place = { name: 'Never', type: 'health_center', parent: 'district' }
    const given = offline('never', { place, password: 'ZSecret1.x9' })
    const { status, json } = await post('/api/v1/users', given)
    app.server.configuration.apply({ ...rule, value: undefined })
    assert.equal(status, 400)
    assert.equal(json.error, 'Password does not conform to requirements. No Z.')
    assert.deepEqual([await docCount('svc'), await docCount('_users')], before)
    // and the name is free
    assert.equal((await post('/api/v1/users', given)).status, 200)
  })

  it('gives a name to one of two who want it at the same moment', async () => {
    const before = await docCount('svc')
    const both = await Promise.all([
      post('/api/v1/users', offline('twice')),
      post('/api/v1/users', offline('twice')),
    ])
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 400])
    // one person, one settings document
    assert.equal(await docCount('svc'), before + 2)
  })

  it('answers an array row by row', async () => {
    const rows = [online('row1'), online('row1'), { username: 'row2' }, offline('row3'), 'nonsense']
    const { status, json } = await post('/api/v1/users', rows)
    assert.equal(status, 200)
    const results = json as unknown as Json[]
    assert.equal(results.length, 5)
    assert.equal(results[0] && (results[0].user as Json).id, 'org.svc.user:row1')
    assert.deepEqual(results[1], { error: 'Username "row1" already taken.' })
    assert.deepEqual(results[2], { error: 'Missing required fields: password, type or roles' })
    assert.ok(results[3]?.contact)
    assert.match(String(results[4]?.error), /^Missing required fields/)
  })

  it('is for those who may create users', async () => {
    assert.equal((await post('/api/v1/users', online('q'), { user: null })).status, 401)
    for (const user of [as('worker'), as('analyst')]) {
      const answer = await post('/api/v1/users', online('q'), { user })
      assert.deepEqual(answer, {
        status: 403,
        json: { code: 403, error: 'Insufficient privileges' },
      })
    }
    assert.equal(
      (await post('/api/v1/users', online('quinn'), { user: as('officer') })).status,
      200,
    )
  })

  it('takes JSON only, and valid JSON', async () => {
    const text = await app.ask('POST', '/api/v1/users', {
      body: 'x',
      headers: { 'Content-Type': 'text/csv' },
    })
    assert.equal(text.status, 400)
    const broken = { body: '{', headers: { 'Content-Type': 'application/json' } }
    assert.equal((await app.ask('POST', '/api/v1/users', broken)).status, 500)
    const xml = { body: '<x/>', headers: { 'Content-Type': 'text/xml' } }
    const { status, json } = await app.ask('POST', '/api/v2/users', xml)
    assert.deepEqual(
      [status, (json as Json).error],
      [400, 'Content-Type must be application/json or text/csv'],
    )
  })
})

describe('POST /api/v2/users', () => {
  const HEADER =
    'contact.name,contact.type,contact.contact_type,contact.meta.created_by,username,password,type,place.parent,place.type,place.name'

  it('makes users of a table with a byte order mark, quotes, line ends and missing cells', async () => {
    const text = [
      `\uFEFF${HEADER},phone`,
      `"Ann, ""Annie"" A",person,,me,csv1,${PASSWORD},chw,district,health_center,"Two\nLines"`,
      '',
      `Bob,contact,person,me,csv2,${PASSWORD},chw,nowhere,health_center,Center B,`,
      `Cid,person,,,csv3,${PASSWORD},chw,district,health_center,Center C,+12025550123`,
    ].join('\r\n')
    const { status, json } = await csv(text)
    assert.equal(status, 200)
    const results = json as unknown as Json[]
    assert.equal(results.length, 3, JSON.stringify(results))
    const { id } = (results[0] as Json).contact as Json
    const person = (await get(`/svc/${id}`)).json
    assert.deepEqual([person.name, person.meta], ['Ann, "Annie" A', { created_by: 'me' }])
    const place = (person.parent as Json)._id
    assert.equal((await get(`/svc/${place}`)).json.name, 'Two\nLines')
    assert.deepEqual(results[1], { error: 'Failed to find place.' })
    assert.equal((await get('/svc/org.svc.user:csv3')).json.phone, '+12025550123')
    assert.equal((await get('/svc/org.svc.user:csv2')).status, 404)
    assert.equal((await get('/_session', `csv1:${PASSWORD}`)).status, 200)
  })

  it('leaves out columns and rows that are marked', async () => {
    const text = [
      'username,password,type,import.status:excluded,import.message:excluded,note:excluded,a.__proto__.b',
      `csv4,${PASSWORD},program_officer,imported,long ago,x,1`,
      `csv5,${PASSWORD},program_officer,,,secret note,1`,
    ].join('\n')
    const { status, json } = await csv(text)
    assert.equal(status, 200)
    assert.equal((json as unknown as Json[]).length, 1)
    assert.equal((await get('/svc/org.svc.user:csv4')).status, 404)
    assert.equal((await get('/svc/org.svc.user:csv5')).status, 200)
    assert.equal(({} as Json).b, undefined)
  })

  it('answers 400 when every row lacks fields, and for an empty body', async () => {
    const rows = await csv('username,type\nno-password,chw\n')
    assert.deepEqual(rows, {
      status: 400,
      json: [{ error: 'Missing required fields: password, place, contact' }],
    })
    const nothing = await csv('')
    assert.deepEqual(nothing, {
      status: 400,
      json: [{ error: 'Missing required fields: username, password, type or roles' }],
    })
    assert.deepEqual(await csv('username,password\n'), { status: 200, json: [] })
  })

  it('tells what is wrong with a table that breaks off, after what it had done', async () => {
    const { status, json } = await csv(`username,password,type\ncsv6,${PASSWORD},analytics\n"x,y`)
    assert.equal(status, 200)
    const [made, broken] = json as unknown as Json[]
    assert.ok(made?.user)
    assert.match(String(broken?.error), /^The CSV cannot be read/)
  })

  it('writes a log of the import without passwords', async () => {
    await csv(`username,password,type\ncsv7,${PASSWORD},analytics\ncsv7,${PASSWORD},analytics\n`)
    const range = 'startkey="bulk-user-upload-"&endkey="bulk-user-upload-z"&include_docs=true'
    const { rows } = (await get(`/svc-logs/_all_docs?${range}`)).json as { rows: { doc: Json }[] }
    const log = rows.at(-1)?.doc as Json
    assert.equal(log.bulk_uploaded_by, 'admin')
    const progress = log.progress as Record<string, unknown>
    assert.equal(progress.status, 'finished')
    assert.deepEqual(progress.parsing, { total: 2, failed: 0, successful: 2 })
    assert.deepEqual(progress.saving, { total: 2, failed: 1, successful: 1, ignored: 0 })
    assert.doesNotMatch(JSON.stringify(log), new RegExp(PASSWORD))
    const statuses = (log.data as { import: Json }[]).map(entry => entry.import.status)
    assert.deepEqual(statuses.sort(), ['error', 'imported'])
  })

  it('takes JSON too', async () => {
    assert.equal((await post('/api/v2/users', online('json2'))).status, 200)
    const taken = await post('/api/v2/users', online('json2'))
    assert.equal(taken.status, 400)
    assert.deepEqual(taken.json.error, {
      message: 'Username "json2" already taken.',
      translationKey: 'username.taken',
      translationParams: { username: 'json2' },
    })
  })
})

describe('POST /api/v3/users', () => {
  it('takes ids only, several places for those who may', async () => {
    const single = { ...offline('v3a'), place: 'center', contact: 'nurse' }
    const made = await post('/api/v3/users', single)
    assert.equal(made.status, 200)
    assert.equal(made.json.contact, undefined)
    const many = { ...offline('v3b'), place: ['center', 'clinic'], contact: 'nurse' }
    assert.deepEqual((await post('/api/v3/users', many)).json, {
      code: 400,
      error: 'This user cannot have multiple places',
    })
    const lists: [unknown, string][] = [
      [[''], 'Missing required fields: place'],
      [[{}], 'Invalid facilities list'],
      ['nowhere', 'Failed to find place nowhere'],
    ]
    for (const [place, text] of lists) {
      const { error } = (await post('/api/v3/users', { ...many, place })).json
      assert.equal(typeof error === 'object' ? (error as Json).message : error, text)
    }
    const missing = await post('/api/v3/users', { ...single, username: 'v3c', contact: 'nobody' })
    assert.deepEqual(missing, {
      status: 404,
      json: { code: 404, error: 'Contact not found [nobody].' },
    })
  })
})

describe('reading users', () => {
  it('lists them with their places and persons', async () => {
    await post(
      '/api/v1/users',
      offline('reader', { place: 'clinic', contact: 'mother', email: 'r@x.y' }),
    )
    const users = (await get('/api/v2/users')).json as unknown as Json[]
    const reader = users.find(({ username }) => username === 'reader') as Json
    assert.equal(reader.id, 'org.svc.user:reader')
    assert.equal(reader.email, 'r@x.y')
    assert.deepEqual(
      (reader.place as Json[]).map(({ _id }) => _id),
      ['clinic'],
    )
    assert.equal((reader.contact as Json).name, 'Mary Smith')
    assert.deepEqual(reader.roles, ['chw'])
    const ids = users.map(({ id }) => id)
    assert.deepEqual(ids, [...ids].sort())
    const old = (await get('/api/v1/users')).json as unknown as Json[]
    const [type, roles] = [old.find(({ username }) => username === 'reader')?.type, old[0]?.roles]
    assert.deepEqual([type, roles], ['chw', undefined])
    const filtered = (await get('/api/v2/users?facility_id=clinic&contact_id=mother')).json
    assert.deepEqual(
      (filtered as unknown as Json[]).map(({ username }) => username),
      ['reader'],
    )
    assert.deepEqual((await get('/api/v2/users?facility_id=nowhere')).json, [])
    assert.equal((await get('/api/v2/users', as('worker'))).status, 403)
  })

  it('shows one user to those who may see all, and to himself', async () => {
    const own = await get('/api/v2/users/reader', `reader:${PASSWORD}`)
    assert.deepEqual([own.status, own.json.username], [200, 'reader'])
    assert.equal((await get('/api/v2/users/reader', as('analyst'))).status, 403)
    assert.deepEqual(await get('/api/v2/users/nobody'), {
      status: 404,
      json: { code: 404, error: 'Failed to find user with name [nobody] in the [users] database.' },
    })
    // an account that the application did not make
    assert.deepEqual(await get('/api/v2/users/worker'), {
      status: 404,
      json: { code: 404, error: 'Failed to find user with name [worker] in the [svc] database.' },
    })
  })
})

describe('POST /api/v1/users/{username}', () => {
  const NEXT = 'Another2.y8'
  before(async () => {
    await post('/api/v1/users', online('mona'))
    await post('/api/v1/users', offline('otto', { place: 'center', contact: 'nurse' }))
  })

  it('changes what it is given', async () => {
    const { status, json } = await post('/api/v1/users/otto', {
      fullname: 'Otto O',
      place: 'clinic',
      contact: 'mother',
    })
    assert.equal(status, 200, JSON.stringify(json))
    assert.deepEqual(Object.keys(json), ['user', 'user-settings'])
    const account = (await get('/_users/org.svc.user:otto')).json
    assert.deepEqual([account.facility_id, account.contact_id], [['clinic'], 'mother'])
    const settings = (await get('/svc/org.svc.user:otto')).json
    assert.deepEqual([settings.fullname, settings.facility_id], ['Otto O', ['clinic']])
    assert.equal((await get('/_session', `otto:${PASSWORD}`)).status, 200)
    await post('/api/v1/users/otto', { roles: ['program_officer'] })
    assert.deepEqual((await get('/_users/org.svc.user:otto')).json.roles, [
      'program_officer',
      'mm-online',
    ])
    await post('/api/v3/users/otto', { type: 'chw' })
    assert.deepEqual((await get('/_users/org.svc.user:otto')).json.roles, ['chw'])
  })

  it('lets a new password in and keeps the old one out', async () => {
    assert.equal((await post('/api/v1/users/mona', { password: NEXT })).status, 200)
    assert.equal((await get('/_session', `mona:${NEXT}`)).status, 200)
    assert.equal((await get('/_session', `mona:${PASSWORD}`)).status, 401)
    assert.equal((await get('/_users/org.svc.user:mona')).json.password_change_required, true)
    const own = await post('/api/v1/users/mona', { password: PASSWORD }, { user: `mona:${NEXT}` })
    assert.equal(own.status, 200)
    assert.equal((await get('/_users/org.svc.user:mona')).json.password_change_required, false)
  })

  const refused: readonly [string, string, Json, number, string][] = [
    [
      'an empty body',
      'otto',
      {},
      400,
      'Request body is empty or Content-Type header was not set to application/json.',
    ],
    [
      'nothing that it knows',
      'otto',
      { x: 1 },
      400,
      'One of the following fields are required: password, known, place, contact, type, roles, oidc_username, fullname, email, phone, external_id, token_login, language',
    ],
    [
      'a weak password',
      'otto',
      { password: 'password' },
      400,
      'The password is too easy to guess. Include a range of types of characters to increase the score.',
    ],
    [
      'an unknown user',
      'nobody',
      { fullname: 'x' },
      404,
      'Failed to find user with name [nobody] in the [users] database.',
    ],
    [
      'several places',
      'otto',
      { place: ['center', 'clinic'] },
      400,
      'This user cannot have multiple places',
    ],
    ['no places', 'otto', { place: [] }, 400, 'Invalid facilities list'],
    ['an unknown place', 'otto', { place: 'nowhere' }, 404, 'Failed to find place nowhere'],
    [
      'an offline user without a place',
      'otto',
      { place: null },
      400,
      'Place field is required for offline users',
    ],
    [
      'an offline user without a person',
      'otto',
      { contact: null },
      400,
      'Contact field is required for offline users',
    ],
    ['an unknown person', 'otto', { contact: 'nobody' }, 404, 'Contact not found [nobody].'],
    [
      'a person elsewhere',
      'otto',
      { place: 'clinic', contact: 'nurse' },
      400,
      'Contact is not within place.',
    ],
  ]
  for (const [what, name, given, status, text] of refused) {
    it(`refuses ${what}`, async () => {
      const answer = await post(`/api/v1/users/${name}`, given)
      const { error } = answer.json
      const told = typeof error === 'object' ? (error as Json).message : error
      assert.deepEqual([answer.status, told], [status, text])
    })
  }

  it('lets people change themselves, a little', async () => {
    const user = `otto:${PASSWORD}`
    const change = (body: Json, options: AskOptions = { user }) =>
      post('/api/v1/users/otto', body, options)
    assert.equal((await change({ fullname: 'Otto Again', known: true })).status, 200)
    for (const field of ['type', 'roles', 'place', 'contact', 'password_change_required']) {
      const answer = await change({ fullname: 'x', [field]: 'x' })
      assert.deepEqual(answer, { status: 401, json: { code: 401, error: 'unauthorized' } }, field)
    }
    const other = await post('/api/v1/users/mona', { fullname: 'x' }, { user })
    assert.deepEqual(other, {
      status: 403,
      json: { code: 403, error: 'You do not have permissions to modify this person' },
    })
    const session = await post('/_session', { name: 'otto', password: PASSWORD }, { user: null })
    assert.equal(session.status, 200)
    const answer = await app.ask('POST', '/_session', {
      user: null,
      body: { name: 'otto', password: PASSWORD },
    })
    const cookie = String(answer.headers['set-cookie']).split(';')[0] as string
    const byCookie = { user: null, headers: { Cookie: cookie } }
    assert.deepEqual(await change({ password: NEXT }, byCookie), {
      status: 403,
      json: { code: 403, error: 'You must authenticate with Basic Auth to modify your password' },
    })
    assert.equal((await change({ email: 'o@x.y' }, byCookie)).status, 200)
    const wrong = { user: 'otto:wrong', headers: { Cookie: cookie } }
    assert.equal((await change({ email: 'o@x.y' }, wrong)).status, 401)
    const both = { user, headers: { Cookie: cookie } }
    assert.equal((await change({ password: NEXT }, both)).status, 200)
    assert.equal((await get('/_session', `otto:${NEXT}`)).status, 200)
  })

  it('is for those who manage users', async () => {
    assert.equal(
      (await post('/api/v1/users/mona', { fullname: 'x' }, { user: as('officer') })).status,
      200,
    )
    assert.equal(
      (await post('/api/v1/users/mona', { fullname: 'x' }, { user: as('analyst') })).status,
      403,
    )
    assert.equal((await post('/api/v1/users/mona', { fullname: 'x' }, { user: null })).status, 401)
  })
})

describe('DELETE /api/v1/users/{username}', () => {
  it('deletes the account, keeps the settings, and keeps the name', async () => {
    await post('/api/v1/users', online('gone'))
    const answer = await app.ask('DELETE', '/api/v1/users/gone', { user: as('officer') })
    assert.equal(answer.status, 200)
    const results = answer.json as Json[]
    assert.deepEqual(
      results.map(({ ok, id }) => [ok, id]),
      [
        [true, 'org.svc.user:gone'],
        [true, 'org.svc.user:gone'],
      ],
    )
    assert.equal((await get('/_session', `gone:${PASSWORD}`)).status, 401)
    const settings = (await get('/svc/org.svc.user:gone')).json
    assert.deepEqual([settings.inactive, typeof settings.deletion_date], [true, 'number'])
    const again = await post('/api/v1/users', online('gone'))
    assert.equal((again.json.error as Json).message, 'Username "gone" already taken.')
    const missing = await app.ask('DELETE', '/api/v1/users/gone')
    assert.deepEqual([missing.status, missing.json], [404, { code: 404, error: 'missing' }])
    assert.equal(
      (await app.ask('DELETE', '/api/v1/users/mona', { user: as('worker') })).status,
      403,
    )
  })
})

describe('token login', () => {
  const enable = () =>
    app.ask('PUT', '/api/v1/settings', {
      body: {
        token_login: { enabled: true, message: 'Welcome!' },
        app_url: 'https://app.example/',
      },
    })
  const tokenOf = async (name: string): Promise<string> => {
    const account = (await get(`/_users/org.svc.user:${name}`)).json
    return (account.token_login as Json).token as string
  }
  const login = async (token: string) => {
    const answer = await app.ask('POST', `/svc/login/token/${encodeURIComponent(token)}`, {
      user: null,
    })
    return {
      status: answer.status,
      text: answer.text,
      cookie: String(answer.headers['set-cookie']),
    }
  }

  it('is ignored while it is switched off', async () => {
    const given = {
      username: 'tina',
      roles: ['analytics'],
      phone: '+12025550123',
      token_login: true,
    }
    const { json } = await post('/api/v1/users', given)
    assert.equal((json.error as Json).message, 'Missing required fields: password')
    const off = await login('x')
    assert.deepEqual([off.status, JSON.parse(off.text).error], [400, 'disabled'])
  })

  it('lets somebody in once', async () => {
    await enable()
    const given = {
      username: 'tina',
      roles: ['analytics'],
      phone: '+1 202 555 0123',
      token_login: true,
    }
    const made = await post('/api/v1/users', given)
    assert.equal(made.status, 200, JSON.stringify(made.json))
    assert.equal(typeof (made.json.token_login as Json).expiration_date, 'number')
    const token = await tokenOf('tina')
    assert.match(token, /^[a-zA-Z0-9.,:!$\-=]{64}$/)
    const carrier = (await get(`/svc/${encodeURIComponent(`token:login:${token}`)}`)).json
    const messages = (carrier.tasks as { state: string; messages: Json[] }[]).map(task => [
      task.state,
      task.messages[0]?.to,
      task.messages[0]?.message,
    ])
    assert.deepEqual(messages, [
      ['pending', '+12025550123', 'Welcome!'],
      ['pending', '+12025550123', `https://app.example/svc/login/token/${token}`],
    ])
    const first = await login(token)
    assert.equal(first.status, 302, first.text)
    assert.match(first.cookie, /AuthSession=/)
    const again = await login(token)
    assert.deepEqual([again.status, JSON.parse(again.text)], [401, { error: 'invalid' }])
    assert.equal((await login('unknown')).status, 401)
    const missing = await app.ask('POST', '/svc/login/token/', { user: null })
    assert.deepEqual([missing.status, (missing.json as Json).error], [400, 'missing'])
  })

  it('is switched on and off for users that exist', async () => {
    await post('/api/v1/users', online('tom'))
    const without = await post('/api/v1/users/tom', { token_login: true })
    assert.equal(
      (without.json.error as Json).message,
      'A valid phone number is required for SMS login.',
    )
    const on = await post('/api/v1/users/tom', { token_login: true, phone: '+12025550124' })
    assert.equal(on.status, 200)
    const first = await tokenOf('tom')
    await post('/api/v1/users/tom', { token_login: true })
    assert.equal((await login(first)).status, 401)
    const old = (await get(`/svc/${encodeURIComponent(`token:login:${first}`)}`)).json
    assert.deepEqual(
      (old.tasks as Json[]).map(({ state }) => state),
      ['cleared', 'cleared'],
    )
    const off = await post('/api/v1/users/tom', { token_login: false })
    assert.equal(
      (off.json.error as Json).message,
      'Password is required when disabling token login.',
    )
    const second = await tokenOf('tom')
    assert.equal(
      (await post('/api/v1/users/tom', { token_login: false, password: PASSWORD })).status,
      200,
    )
    assert.equal((await login(second)).status, 401)
    assert.equal((await get('/_session', `tom:${PASSWORD}`)).status, 200)
  })
})
