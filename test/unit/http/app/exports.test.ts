/** `/api/v2/export`: every type, its columns, filters, options, files and refusals. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  as,
  HIERARCHY,
  startApplication,
  type TestApplication,
} from '../../../support/application.ts'
import type { Answer, AskOptions } from '../../../support/start-server.ts'

let application: TestApplication

const sender = { _id: 'nurse', parent: { _id: 'center', parent: { _id: 'district' } } }

const REPORTS = [
  {
    _id: 'r-1',
    form: 'b',
    reported_date: 1_517_443_200_000,
    patient_id: 'abc123',
    from: '+254700000001',
    contact: sender,
    fields: { foo: 'he said "hi"', bar: { deep: 12, list: [1, 'a'] }, ok: true, none: null },
  },
  {
    _id: 'r-2',
    form: 'b',
    reported_date: 1_517_529_600_000,
    verified: true,
    errors: [{ code: 'sys.missing_fields' }],
    fields: { foo: '', extra: 'no column', patient_id: '2001' },
  },
  {
    _id: 'r-3',
    form: 'a',
    reported_date: 1_517_616_000_000,
    verified: false,
    contact: { _id: 'gone', name: 'Once Known' },
    fields: { note: '=HYPERLINK("http://x")', patient_uuid: 'mother' },
  },
].map(report => ({ type: 'data_record', ...report }))

before(async () => {
  application = await startApplication()
  await application.store(...HIERARCHY, ...REPORTS)
})
after(() => application.close())

const get = (path: string, options: AskOptions = {}): Promise<Answer> =>
  application.ask('GET', `/api/v2/export/${path}`, { user: as('officer'), ...options })

const post = (path: string, body: unknown): Promise<Answer> =>
  application.ask('POST', `/api/v2/export/${path}`, { user: as('officer'), body })

const headerOf = ({ headers }: Answer, name: string): string => String(headers[name])

const linesOf = ({ text }: Answer): string[] => {
  assert.ok(text.endsWith('\n'))
  return text.slice(0, -1).split('\n')
}

/** The first cells of all lines but the heading. */
const idsOf = (answer: Answer): string[] =>
  linesOf(answer)
    .slice(1)
    .map(line => line.split(',')[0]?.replaceAll('"', '') ?? '')

describe('exports', () => {
  const TYPES = ['reports', 'messages', 'contacts', 'feedback', 'user-devices']

  it('are for people who are online and have the permission', async () => {
    const query = '?filters[dataSet]=x&filters[date][from]=1'
    for (const type of [...TYPES, 'aggregate', 'dhis']) {
      assert.equal((await get(type, { user: null })).status, 401)
      const offline = await get(type, { user: as('worker') })
      assert.equal(offline.status, 403)
      assert.deepEqual(offline.json, { code: 403, error: 'Insufficient privileges' })
      const { status } = await get(`${type}${query}`, { user: as('analyst') })
      assert.equal(status, type === 'reports' || type === 'messages' ? 200 : 403, type)
      assert.notEqual((await get(`${type}${query}`)).status, 403)
    }
  })

  it('are of a known type, whoever asks', async () => {
    for (const user of [as('officer'), null]) {
      for (const method of ['GET', 'POST']) {
        const answer = await application.ask(method, '/api/v2/export/nothing', { user, body: {} })
        assert.equal(answer.status, 404)
        assert.deepEqual(answer.json, { code: 404, error: 'Invalid export type "nothing"' })
      }
    }
  })

  it('are files', async () => {
    const file = /^attachment; filename=([a-z-]+)-\d{12}\.(csv|json)$/
    for (const type of TYPES) {
      for (const answer of [await get(type), await post(type, {})]) {
        assert.equal(answer.status, 200)
        const isJson = type === 'contacts' || type === 'user-devices'
        const [, name, extension] = file.exec(headerOf(answer, 'content-disposition')) ?? []
        assert.equal(name, type)
        assert.equal(extension, isJson ? 'json' : 'csv')
        assert.equal(headerOf(answer, 'content-type'), isJson ? 'application/json' : 'text/csv')
      }
    }
  })

  it('take JSON only in a body', async () => {
    const headers = { 'Content-Type': 'text/plain' }
    const options = { user: as('officer'), body: '{}', headers }
    const answer = await application.ask('POST', '/api/v2/export/reports', options)
    assert.equal(answer.status, 400)
    assert.deepEqual(answer.json, { code: 400, error: 'Content-Type must be application/json' })
  })

  it('refuse what makes no sense', async () => {
    const cases = [
      ['reports?filters=x', '`filters` must be an object'],
      ['reports?options=x', '`options` must be an object'],
      ['reports?options[limit]=0', 'Invalid `options.limit`: "0"'],
      ['reports?filters[date][from]=yesterday', 'Invalid date "from": "yesterday"'],
      [
        'reports?filters[date][to]=2020-13-01T00:00:00Z',
        'Invalid date "to": "2020-13-01T00:00:00Z"',
      ],
      ['reports?filters[date]=1', '`filters.date` must be an object'],
      ['messages?filters[date][from]=x', 'Invalid date "from": "x"'],
      ['contacts?format=xml', 'Invalid format: "xml"'],
      ['feedback?format=pdf', 'Invalid format: "pdf"'],
      ['feedback?tz=here', 'Invalid tz: "here"'],
    ] as const
    for (const [path, error] of cases) {
      const answer = await get(path)
      assert.equal(answer.status, 400, path)
      assert.deepEqual(answer.json, { code: 400, error })
    }
  })
})

describe('reports', () => {
  const HEADING =
    '_id,form,patient_id,reported_date,from,contact.name,contact.parent.name,' +
    'contact.parent.parent.name,contact.parent.parent.parent.name'

  it('have the columns of all forms, newest first', async () => {
    const lines = linesOf(await get('reports'))
    const fields = 'bar.deep,bar.list,foo,none,note,ok,patient_id,patient_uuid'
    assert.deepEqual(lines, [
      `${HEADING},${fields}`,
      '"report","visit","2001",1700000000000,,"Nadia Nurse","Lake Center","Kisumu",,,,,,"Fever since Monday",,"2001",',
      `"r-3","a",,1517616000000,,"Once Known",,,,,,,,"'=HYPERLINK(\\"http://x\\")",,,"mother"`,
      '"r-2","b","2001",1517529600000,,,,,,,,"",,,,"2001",',
      '"r-1","b","abc123",1517443200000,"+254700000001","Nadia Nurse","Lake Center","Kisumu",,12,"[1,\\"a\\"]","he said \\"hi\\"",,,true,,',
    ])
  })

  it('have dates as people read them', async () => {
    const asked = [
      await get('reports?options[humanReadable]=true&filters[forms][selected][0][code]=b'),
      await post('reports', { options: { humanReadable: true } }),
      await post('reports', { options: { humanReadable: 'true' } }),
    ]
    for (const answer of asked) assert.match(answer.text, /"2018-02-01T00:00:00\.000Z"/)
    assert.match((await get('reports?options[humanReadable]=false')).text, /,1517443200000,/)
  })

  it('are those of some forms, with their columns', async () => {
    const byQuery = await get('reports?filters[forms][selected][0][code]=a')
    const byBody = await post('reports', { filters: { forms: { selected: [{ code: 'a' }] } } })
    assert.equal(byBody.text, byQuery.text)
    assert.equal(linesOf(byQuery)[0], `${HEADING},note,patient_uuid`)
    assert.deepEqual(idsOf(byQuery), ['r-3'])
    const forms = { selected: [{ code: 'a' }], options: [{ code: 'a' }] }
    assert.equal(idsOf(await post('reports', { filters: { forms } })).length, 4)
    const none = await get('reports?filters[forms][selected][0][code]=zzz')
    assert.deepEqual(linesOf(none), [HEADING])
  })

  it('are those of a time, whose ends belong to it', async () => {
    const range = (from: unknown, to: unknown) =>
      post('reports', { filters: { date: { from, to } } }).then(idsOf)
    assert.deepEqual(await range(1_517_529_600_000, 1_517_616_000_000), ['r-3', 'r-2'])
    assert.deepEqual(await range('2018-02-02T00:00:00Z', '2018-02-02T03:00:00+0300'), ['r-2'])
    assert.deepEqual(await range(undefined, 1_517_443_200_000), ['r-1'])
    assert.deepEqual(await range(1_517_616_000_000, undefined), ['report', 'r-3'])
    const byQuery = await get('reports?filters[date][to]=1517443200000')
    assert.deepEqual(idsOf(byQuery), ['r-1'])
  })

  it('are those that were looked at, or not', async () => {
    const verified = (value: unknown) =>
      post('reports', { filters: { verified: value } }).then(idsOf)
    assert.deepEqual(await verified(true), ['r-2'])
    assert.deepEqual(await verified('true'), ['r-2'])
    assert.deepEqual(await verified(['true', false]), ['r-3', 'r-2'])
    assert.deepEqual(await verified([null]), ['report', 'r-1'])
    assert.deepEqual(idsOf(await get('reports?filters[verified]=false')), ['r-3'])
    assert.deepEqual(idsOf(await get('reports?filters[verified][0]=')), ['report', 'r-1'])
  })

  it('are those without errors, or with', async () => {
    assert.deepEqual(idsOf(await post('reports', { filters: { valid: false } })), ['r-2'])
    assert.deepEqual(idsOf(await get('reports?filters[valid]=false')), ['r-2'])
    const valid = ['report', 'r-3', 'r-1']
    assert.deepEqual(idsOf(await get('reports?filters[valid]=true')), valid)
    assert.deepEqual(idsOf(await post('reports', { filters: { valid: true } })), valid)
  })

  it('are those from a place, or about somebody', async () => {
    const filtered = (filters: object) => post('reports', { filters }).then(idsOf)
    assert.deepEqual(await filtered({ facilities: { selected: ['district'] } }), ['report', 'r-1'])
    assert.deepEqual(await filtered({ facilities: { selected: ['clinic'] } }), [])
    assert.deepEqual(await filtered({ subjectIds: ['2001', 'mother'] }), ['report', 'r-3', 'r-2'])
    assert.deepEqual(await filtered({ subjectIds: 'abc123' }), ['r-1'])
    assert.deepEqual(idsOf(await get('reports?filters[subjectIds][]=mother')), ['r-3'])
    const both = { subjectIds: ['2001'], facilities: { selected: ['center'] } }
    assert.deepEqual(await filtered(both), ['report'])
  })

  it('are those with words', async () => {
    const search = (text: string) => post('reports', { filters: { search: text } }).then(idsOf)
    assert.deepEqual(await search('FEVER'), ['report'])
    assert.deepEqual(await search('  fev  mond '), ['report'])
    assert.deepEqual(await search('fever tuesday'), [])
    assert.deepEqual(await search('patient_id:2001'), ['report', 'r-2'])
    assert.deepEqual(await search('patient_id:200'), [])
    assert.deepEqual(await search('contact:nurse'), ['report', 'r-1'])
    assert.equal((await search('he')).length, 4)
    assert.equal((await search('')).length, 4)
  })

  it('come whole, however few are read at once', async () => {
    const whole = await get('reports')
    assert.equal((await get('reports?options[limit]=1')).text, whole.text)
    assert.equal((await get('reports?options[limit]=100000')).text, whole.text)
  })

  it('do not mind names that every object has, or more names than anybody needs', async () => {
    const odd = '__proto__[x]=1&constructor[prototype][y]=2&a[b][c][d][e][f][g][h]=1'
    const many = Array.from({ length: 2000 }, (_, at) => `n${at}=1`).join('&')
    assert.equal((await get(`reports?${odd}&${many}`)).status, 200)
    assert.equal(({} as Record<string, unknown>).x, undefined)
  })
})

describe('contacts', () => {
  const ALL = ['clinic', 'district', 'center', 'child', 'mother', 'nurse']

  it('are a list of objects', async () => {
    const contacts = (await get('contacts')).json as Record<string, unknown>[]
    assert.deepEqual(contacts.map(({ id }) => id).sort(), [...ALL].sort())
    const mother = contacts.find(({ id }) => id === 'mother')
    assert.match(String(mother?.rev), /^1-/)
    assert.deepEqual(mother, {
      id: 'mother',
      rev: mother?.rev,
      name: 'Mary Smith',
      patient_id: '2001',
      type: 'person',
    })
    const child = contacts.find(({ id }) => id === 'child')
    assert.equal(child?.contact_type, 'person')
  })

  it('are lines for those who want lines', async () => {
    const byAccept = await get('contacts?filters[parent]=center', {
      headers: { Accept: 'text/csv' },
    })
    const byFormat = await get('contacts?filters[parent]=center&format=csv')
    assert.equal(byAccept.text, byFormat.text)
    assert.equal(headerOf(byFormat, 'content-type'), 'text/csv')
    const [heading, clinic, nurse, ...more] = linesOf(byFormat)
    assert.equal(heading, 'id,rev,name,patient_id,type,contact_type,place_id')
    assert.match(String(clinic), /^"clinic","1-[0-9a-f]+","Household One",,"clinic",,"3001"$/)
    assert.match(String(nurse), /^"nurse","1-[0-9a-f]+","Nadia Nurse",,"person",,$/)
    assert.deepEqual(more, [])
  })

  it('are those of a type, with words, below a place; in the order of lists', async () => {
    const ids = async (filters: object): Promise<unknown[]> =>
      ((await post('contacts', { filters })).json as { id: string }[]).map(({ id }) => id)
    assert.deepEqual(await ids({ types: { selected: ['person'] } }), ['mother', 'nurse', 'child'])
    const places = { selected: ['clinic', 'district_hospital'] }
    assert.deepEqual(await ids({ types: places }), ['district', 'clinic'])
    assert.deepEqual(await ids({ search: 'smith' }), ['mother', 'child'])
    assert.deepEqual(await ids({ search: 'smith zoë' }), ['child'])
    assert.deepEqual(await ids({ search: 'smith', types: { selected: ['clinic'] } }), [])
    assert.deepEqual(await ids({ parent: 'clinic' }), ['mother', 'child'])
    assert.deepEqual(await ids({ parent: 'center', types: { selected: ['person'] } }), ['nurse'])
    assert.deepEqual(await ids({ search: 'nobody' }), [])
    const byQuery = await get('contacts?filters[types][selected][]=clinic&filters[search]=house')
    assert.deepEqual(
      (byQuery.json as { id: string }[]).map(({ id }) => id),
      ['clinic'],
    )
  })
})

describe('messages', () => {
  const HEADING =
    'id,patient_id,reported_date,from,contact.name,type,state,received,scheduled,pending,sent,' +
    'cleared,muted,message_id,sent_by,to_phone,content'
  const day = '2018-02-01T00:00:00.000Z'
  const dayMs = 1_517_443_200_000

  before(async () => {
    await application.store(
      {
        _id: 'messages-en',
        type: 'translations',
        code: 'en',
        generic: { anc: 'ANC {{group}}', due: 'Come, {{patient_name}}, to {{clinic.name}}' },
      },
      {
        _id: 'm-in',
        type: 'data_record',
        reported_date: dayMs,
        from: '+254700000001',
        contact: sender,
        sms_message: { message: '+cmd|calc', from: '+254700000001' },
        responses: [{ to: '+254700000009', message: 'thanks' }],
      },
      {
        _id: 'm-out',
        type: 'data_record',
        form: 'b',
        reported_date: dayMs,
        fields: { patient_uuid: 'mother', patient_id: undefined },
        tasks: [
          {
            messages: [{ uuid: 'u-1', to: '+254700000002', message: 'line one\nline "two"' }],
            state: 'sent',
            state_history: [
              { state: 'pending', timestamp: '2018-01-01T00:00:00.000Z' },
              { state: 'sent', timestamp: '2018-01-02T00:00:00.000Z' },
              { state: 'sent', timestamp: day },
            ],
          },
          {
            messages: [{ uuid: 'u-2', to: '1', message: 'x' }],
            state: 'muted',
            timestamp: dayMs,
            type: 'Mine',
          },
        ],
        scheduled_tasks: [
          {
            due: day,
            state: 'scheduled',
            translation_key: 'anc',
            group: 2,
            message_key: 'due',
            recipient: 'reporting_unit',
          },
        ],
      },
    )
  })

  it('come and go, each once', async () => {
    const answer = await get('messages?filters[date][to]=1517443200000')
    const text = answer.text
    assert.equal(text.slice(0, text.indexOf('\n')), HEADING)
    const lines = text.slice(text.indexOf('\n') + 1)
    const expected = [
      '"m-in",,1517443200000,"+254700000001","Nadia Nurse","Automated Reply","sent","","","",1517443200000,"","",,,"+254700000009","thanks"',
      `"m-in",,1517443200000,"+254700000001","Nadia Nurse","Message","received",1517443200000,"","","","","",,"+254700000001",,"'+cmd|calc"`,
      '"m-out","2001",1517443200000,,,"Task Message","sent","","",1514764800000,1517443200000,"","","u-1",,"+254700000002","line one\nline \\"two\\""',
      '"m-out","2001",1517443200000,,,"Mine","muted","","","","","",1517443200000,"u-2",,"1","x"',
      '"m-out","2001",1517443200000,,,"ANC 2","scheduled","",1517443200000,"","","","",,,,"Come, Mary Smith, to Household One"',
    ]
    assert.equal(lines, `${expected.join('\n')}\n`)
  })

  it('have dates as people read them', async () => {
    const answer = await post('messages', { options: { humanReadable: true } })
    assert.match(answer.text, /"m-in",,"2018-02-01T00:00:00\.000Z"/)
    assert.match(answer.text, /"scheduled","","2018-02-01T00:00:00\.000Z"/)
  })

  it('are also those that nobody answered', async () => {
    assert.match(
      (await get('messages')).text,
      /^"message",,"",,"Nadia Nurse","Message","received"/m,
    )
  })
})

const meta = async (...docs: object[]): Promise<void> => {
  const { text } = await application.ask('POST', '/svc-users-meta/_bulk_docs', { body: { docs } })
  assert.doesNotMatch(text, /"error"/)
}

describe('feedback', () => {
  before(() =>
    meta(
      {
        _id: 'feedback-2020-01-01T10:00:00.000Z-a',
        type: 'feedback',
        meta: {
          time: '2020-01-01T10:00:00.000Z',
          user: { name: 'ada' },
          version: '4.1',
          url: 'http://x/<y>',
        },
        info: { message: 'it "broke", again' },
      },
      {
        _id: 'feedback-2020-02-01T10:00:00.000Z-b',
        type: 'feedback',
        meta: { time: '2020-02-01T22:30:00.000Z' },
      },
      { _id: 'telemetry-else', type: 'telemetry' },
    ),
  )

  it('is what users told, newest first', async () => {
    assert.deepEqual(linesOf(await get('feedback')), [
      'id,reported_date,user,app_version,url,info',
      '"feedback-2020-02-01T10:00:00.000Z-b","2020-02-01T22:30:00.000Z",,,,',
      '"feedback-2020-01-01T10:00:00.000Z-a","2020-01-01T10:00:00.000Z","ada","4.1","http://x/<y>",' +
        '"{\\"message\\":\\"it \\\\\\"broke\\\\\\"\\, again\\"}"',
    ])
  })

  it('comes without headings', async () => {
    for (const value of ['true', '1']) {
      assert.equal(linesOf(await get(`feedback?skip_header_row=${value}`)).length, 2)
    }
    assert.equal(linesOf(await get('feedback?skip_header_row=false')).length, 3)
  })

  it('comes as it once did, in a language and a time zone', async () => {
    const lines = linesOf(await get('feedback?locale=fr&tz=-120'))
    assert.equal(lines[0], '_id;reported_date;User;App Version;URL;Info')
    assert.match(String(lines[1]), /^"feedback-[^"]+";"02, févr\. 2020, 00:30:00 \+02:00";;;;$/)
    const english = linesOf(await get('feedback?tz=90'))
    assert.match(String(english[1]), /^"feedback-[^"]+","01, Feb 2020, 21:00:00 -01:30",,,,$/)
    const info = '"{\\"message\\":\\"it \\\\\\"broke\\\\\\", again\\"}"'
    assert.ok(english[2]?.endsWith(info), english[2])
  })

  it('comes as a workbook', async () => {
    const answer = await get('feedback?format=xml')
    assert.equal(headerOf(answer, 'content-type'), 'application/vnd.ms-excel')
    assert.match(
      headerOf(answer, 'content-disposition'),
      /^attachment; filename=feedback-\d{12}\.xml$/,
    )
    assert.match(
      answer.text,
      /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<\?mso-application progid="Excel\.Sheet"\?>/,
    )
    assert.match(answer.text, /<Worksheet ss:Name="Feedback"><Table>/)
    assert.match(answer.text, /<Cell><Data ss:Type="String">http:\/\/x\/&lt;y&gt;<\/Data><\/Cell>/)
    assert.match(answer.text, /<Cell><Data ss:Type="String"\/><\/Cell>/)
    assert.equal(answer.text.match(/<Row>/g)?.length, 3)
    assert.match(answer.text, /<\/Table><\/Worksheet><\/Workbook>\n$/)
  })
})

describe('user devices', () => {
  const telemetry = (id: string, user: string, deviceId: string, day: number, device?: object) => ({
    _id: id,
    type: 'telemetry',
    metadata: {
      user,
      deviceId,
      year: 2024,
      month: 3,
      day,
      versions: { app: `4.${day}`, settings: '7-x' },
    },
    ...(device === undefined ? {} : { device }),
  })

  it('are the latest of each user and device', async () => {
    const userAgent =
      'Mozilla/5.0 (Linux; Android 9) AppleWebKit/537.36 Chrome/118.0.5993.80 Mobile Safari/537.36'
    const deviceInfo = {
      app: { version: 'v1.2' },
      software: { androidVersion: '9' },
      storage: { free: 1, total: 2 },
    }
    await meta(
      telemetry('t-1', 'zoe', 'd1', 2),
      telemetry('t-2', 'ada', 'd2', 20, { userAgent, deviceInfo }),
      telemetry('t-3', 'ada', 'd2', 3),
      telemetry('t-4', 'ada', 'd1', 1),
    )
    assert.deepEqual((await get('user-devices')).json, [
      {
        user: 'ada',
        deviceId: 'd1',
        date: '2024-03-01',
        browser: {},
        app: '4.1',
        cht: '4.1',
        settings: '7-x',
      },
      {
        user: 'ada',
        deviceId: 'd2',
        date: '2024-03-20',
        browser: { name: 'Chrome', version: '118.0.5993.80' },
        apk: 'v1.2',
        android: '9',
        app: '4.20',
        cht: '4.20',
        settings: '7-x',
        storageFree: 1,
        storageTotal: 2,
      },
      {
        user: 'zoe',
        deviceId: 'd1',
        date: '2024-03-02',
        browser: {},
        app: '4.2',
        cht: '4.2',
        settings: '7-x',
      },
    ])
  })
})

describe('aggregate', () => {
  before(async () => {
    const items = [
      { id: 'births', agg: { dataSet: 'set', dataElement: 'e-1' } },
      { id: 'visits', dhis: { dataElement: 'e-2', categoryOptionCombo: 'c' } },
      { id: 'other', agg: { dataSet: 'else', dataElement: 'e-3' } },
      { id: 'plain' },
    ]
    const body = {
      agg_data_sets: [{ id: 'set', translation_key: 'set.name' }, { id: 'empty' }],
      dhis_data_sets: [{ id: 'old' }],
      tasks: { targets: { items } },
    }
    await application.ask('PUT', '/api/v1/settings', { body })
    const target = (owner: string, births: number, visits: number, month = '2020-02') => ({
      _id: `target~${month}~${owner}~org.svc.user:${owner}`,
      type: 'target',
      owner,
      targets: [
        { id: 'births', value: { pass: 1, total: births } },
        { id: 'visits', value: { pass: 1, total: visits } },
      ],
    })
    await application.store(
      { _id: 'unit', type: 'district_hospital', name: 'Unit', agg: { orgUnit: 'ou-top' } },
      {
        _id: 'sub',
        type: 'health_center',
        name: 'Sub',
        parent: { _id: 'unit' },
        dhis: [{ orgUnit: 'ou-sub', dataSet: 'set' }],
      },
      { _id: 'empty-unit', type: 'clinic', name: 'Empty', agg: { orgUnit: 'ou-zero' } },
      {
        _id: 'foreign',
        type: 'clinic',
        name: 'Foreign',
        agg: { orgUnit: 'ou-else', dataSet: 'else' },
      },
      { _id: 'p-1', type: 'person', parent: { _id: 'sub', parent: { _id: 'unit' } } },
      { _id: 'p-2', type: 'person', parent: { _id: 'unit' } },
      target('p-1', 1, 10),
      target('p-2', 2, 20),
      target('p-1', 100, 100, '2020-03'),
    )
  })

  const QUERY = 'filters[dataSet]=set&filters[date][from]=1581768000000'
  const values = (...rows: [string, string, number][]) =>
    rows.map(([orgUnit, dataElement, value]) =>
      dataElement === 'e-2'
        ? { dataElement, categoryOptionCombo: 'c', orgUnit, value }
        : { dataElement, orgUnit, value },
    )

  it('adds up the targets of a month, for every unit', async () => {
    for (const type of ['aggregate', 'dhis']) {
      const answer = await get(`${type}?${QUERY}`)
      const { completeDate, ...rest } = answer.json as { completeDate: string }
      assert.match(completeDate, /^\d{4}-\d\d-\d\d$/)
      assert.deepEqual(rest, {
        dataSet: 'set',
        period: '202002',
        dataValues: values(
          ['ou-sub', 'e-1', 1],
          ['ou-sub', 'e-2', 10],
          ['ou-top', 'e-1', 3],
          ['ou-top', 'e-2', 30],
          ['ou-zero', 'e-1', 0],
          ['ou-zero', 'e-2', 0],
        ),
      })
      const file = new RegExp(`^attachment; filename=${type}-\\d{12}\\.json$`)
      assert.match(headerOf(answer, 'content-disposition'), file)
    }
  })

  it('is of one unit, asked in a body with a date', async () => {
    const filters = { dataSet: 'set', date: { from: '2020-02-29T10:00:00Z' }, orgUnit: 'ou-sub' }
    const { dataValues } = (await post('aggregate', { filters })).json as { dataValues: unknown }
    assert.deepEqual(dataValues, values(['ou-sub', 'e-1', 1], ['ou-sub', 'e-2', 10]))
  })

  it('has names for people', async () => {
    const query = `${QUERY}&filters[orgUnit]=ou-sub&options[humanReadable]=true`
    const answer = (await get(`aggregate?${query}`)).json as Record<string, unknown>
    assert.equal(answer.dataSet, 'set.name')
    assert.deepEqual(answer.dataValues, [
      { dataElement: 'births', orgUnit: 'Sub', value: 1 },
      { dataElement: 'visits', categoryOptionCombo: 'c', orgUnit: 'Sub', value: 10 },
    ])
  })

  it('says what is missing', async () => {
    const cases = [
      ['', 'filter "dataSet" is required'],
      ['filters[dataSet]=set', 'filter "from" is required'],
      ['filters[dataSet]=nothing&filters[date][from]=1', 'dataSet "nothing" is not defined'],
    ] as const
    for (const [query, error] of cases) {
      const answer = await get(`aggregate?${query}`)
      assert.equal(answer.status, 400)
      assert.deepEqual(answer.json, { code: 400, error })
    }
    await application.ask('PUT', '/api/v1/settings?replace=true', {
      body: {
        tasks: { targets: { items: [{ id: 'x', agg: { dataElement: 'e', dataSet: 'else' } }] } },
      },
    })
    const answer = await get('aggregate?filters[dataSet]=old&filters[date][from]=1')
    assert.equal(answer.status, 400)
    assert.deepEqual(answer.json, { code: 400, error: 'dataSet "old" has no dataElements' })
  })
})
