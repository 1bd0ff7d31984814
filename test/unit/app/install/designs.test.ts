/** The rows that the map functions of the application's design documents make. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { normalizeTerm } from '../../../../src/app/contacts/freetext.ts'
import { clientDesign } from '../../../../src/app/install/designs/client-design.ts'
import { mainDesign } from '../../../../src/app/install/designs/main-design.ts'
import type { DesignDefinition } from '../../../../src/app/install/designs/map-function.ts'
import {
  LOGS_DESIGN,
  SENTINEL_DESIGN,
  USERS_DESIGN,
  USERS_META_DESIGN,
} from '../../../../src/app/install/designs/other-designs.ts'
import { serviceDesigns } from '../../../../src/app/install/designs/service-designs.ts'

const MAIN = mainDesign('svc')
const CLIENT = clientDesign('svc')
const [ADMIN, SMS, CONFLICTS, SCRIPTS] = serviceDesigns('svc') as [
  DesignDefinition,
  DesignDefinition,
  DesignDefinition,
  DesignDefinition,
]

function rows(design: DesignDefinition, view: string, doc: object): unknown[] {
  const found: unknown[] = []
  const emit = (key: unknown, value: unknown) => found.push([key, value])
  const { map } = design.views[view] as { map: string }
  const run = new Function('emit', `return (${map})`)(emit) as (doc: object) => void
  run(JSON.parse(JSON.stringify(doc)))
  return JSON.parse(JSON.stringify(found)) as unknown[]
}

const keys = (design: DesignDefinition, view: string, doc: object): unknown[] =>
  rows(design, view, doc).map(row => (row as unknown[])[0])

const CLINIC = {
  _id: 'c',
  type: 'clinic',
  name: 'Home',
  place_id: 'pc',
  contact: { _id: 'p' },
  parent: { _id: 'h', parent: { _id: 'd' } },
}
const REPORT = {
  _id: 'r',
  type: 'data_record',
  form: 'V',
  reported_date: 5,
  fields: { patient_id: 's1', year: 2020, month: 3, week_number: 9 },
  contact: { _id: 'p', parent: { _id: 'c', parent: { _id: 'h' } } },
}

describe('views of the main design document', () => {
  it('contacts_by_depth', () => {
    const value = { shortcode: 'pc', primary_contact: 'p' }
    assert.deepEqual(rows(MAIN, 'contacts_by_depth', CLINIC), [
      [['c'], value],
      [['c', 0], value],
      [['h'], value],
      [['h', 1], value],
      [['d'], value],
      [['d', 2], value],
    ])
    assert.deepEqual(rows(MAIN, 'contacts_by_depth', REPORT), [])
  })

  it('contacts_by_primary_contact takes ids too', () => {
    assert.deepEqual(keys(MAIN, 'contacts_by_primary_contact', CLINIC), ['p'])
    assert.deepEqual(keys(MAIN, 'contacts_by_primary_contact', { ...CLINIC, contact: 'q' }), ['q'])
  })

  it('docs_by_replication_key', () => {
    const replication = (doc: object) => rows(MAIN, 'docs_by_replication_key', doc)
    assert.deepEqual(replication({ _id: 'settings' }), [['_all', {}]])
    assert.deepEqual(replication({ _id: 'f', type: 'form' }), [['_all', {}]])
    assert.deepEqual(replication(CLINIC), [['c', { type: 'clinic' }]])
    assert.deepEqual(replication({ _id: 't', type: 'task', user: 'u' }), [['u', { type: 'task' }]])
    assert.deepEqual(replication({ _id: 't', type: 'target', owner: 'o' }), [
      ['o', { type: 'target' }],
    ])
    assert.deepEqual(replication({ _id: 'x', type: 'user-settings' }), [])
    const value = { type: 'data_record', subject: 's1', submitter: 'p' }
    assert.deepEqual(replication(REPORT), [['s1', value]])
    const failed = { ...REPORT, errors: [{ code: 'registration_not_found' }] }
    assert.deepEqual(replication(failed), [['p', { ...value, subject: 'p' }]])
    const signed = { ...REPORT, fields: { patient_id: 'c', needs_signoff: true, private: true } }
    const marked = {
      type: 'data_record',
      subject: 'c',
      submitter: 'p',
      private: true,
      needs_signoff: true,
    }
    assert.deepEqual(replication(signed), [
      ['c', marked],
      ['p', marked],
      ['h', marked],
    ])
    assert.deepEqual(keys(MAIN, 'docs_by_replication_key', { type: 'data_record', form: 'x' }), [
      '_unassigned',
    ])
    const incoming = { type: 'data_record', sms_message: {}, contact: { _id: 'p' } }
    assert.deepEqual(replication(incoming), [['p', { type: 'data_record', subject: 'p' }]])
    const outgoing = {
      type: 'data_record',
      kujua_message: true,
      tasks: [{ messages: [{ contact: { _id: 'q' } }] }],
    }
    assert.deepEqual(keys(MAIN, 'docs_by_replication_key', outgoing), ['q'])
  })

  it('messages_by_state', () => {
    const message = { uuid: 'u', to: '+1', message: 'hi' }
    const doc = {
      reported_date: 1,
      tasks: [{ state: 'pending', due: '1970-01-01T00:00:00.009Z', messages: [message, {}] }],
      scheduled_tasks: [{ state: 'scheduled', timestamp: 4 }],
    }
    const value = { content: 'hi', to: '+1', id: 'u' }
    assert.deepEqual(rows(MAIN, 'messages_by_state', doc), [
      [['pending', 9], value],
      [['pending-or-forwarded', 9], value],
      [['scheduled', 4], {}],
    ])
  })

  it('of reports and tasks', () => {
    assert.deepEqual(rows(MAIN, 'reports_by_form_and_parent', REPORT), [[['V', 'c'], 5]])
    const month = 'reports_by_form_year_month_parent_reported_date'
    assert.deepEqual(keys(MAIN, month, REPORT), [['V', 2020, 3, 'c', 5]])
    const week = 'reports_by_form_year_week_parent_reported_date'
    assert.deepEqual(keys(MAIN, week, REPORT), [['V', 2020, 9, 'c', 5]])
    const task = { type: 'task', state: 'Failed', emission: { endDate: '2020-01-01' } }
    assert.deepEqual(keys(MAIN, 'tasks_in_terminal_state', task), ['2020-01-01'])
    assert.deepEqual(keys(MAIN, 'tasks_in_terminal_state', { ...task, state: 'Ready' }), [])
    assert.deepEqual(keys(MAIN, 'docs_by_shortcode', { place_id: 1, case_id: 'x' }), [1, 'x'])
  })

  it('doc_summaries_by_id', () => {
    assert.deepEqual(rows(MAIN, 'doc_summaries_by_id', { ...CLINIC, _rev: '1-a', phone: '+1' }), [
      [
        'c',
        {
          _rev: '1-a',
          name: 'Home',
          phone: '+1',
          type: 'clinic',
          contact: 'p',
          lineage: ['h', 'd'],
        },
      ],
    ])
    const [row] = rows(MAIN, 'doc_summaries_by_id', REPORT) as [[string, Record<string, unknown>]]
    assert.deepEqual(row[1].subject, { value: 's1', type: 'reference' })
    assert.deepEqual([row[1].valid, row[1].contact, row[1].lineage], [true, 'p', ['c', 'h']])
  })
})

describe('views of the client design document', () => {
  it('of contacts', () => {
    assert.deepEqual(rows(CLIENT, 'contacts_by_type', CLINIC), [[['clinic'], 'false false 2 home']])
    const dead = { type: 'contact', contact_type: 'chief', name: 'Ann', date_of_death: 1, muted: 1 }
    assert.deepEqual(rows(CLIENT, 'contacts_by_type', dead), [[['chief'], 'true true chief ann']])
    assert.deepEqual(keys(CLIENT, 'contacts_by_parent', CLINIC), [['h', 'clinic']])
    assert.deepEqual(rows(CLIENT, 'contacts_by_place', CLINIC), [
      [['h'], '2 home'],
      [['d'], '2 home'],
    ])
    assert.deepEqual(
      keys(CLIENT, 'contacts_by_reference', { ...CLINIC, patient_id: 7, rc_code: 'ab' }),
      [
        ['shortcode', 'pc'],
        ['shortcode', '7'],
        ['external', 'AB'],
      ],
    )
    assert.deepEqual(keys(CLIENT, 'contacts_by_phone', { ...CLINIC, phone: '+1' }), ['+1'])
    assert.deepEqual(rows(CLIENT, 'total_clinics_by_facility', CLINIC), [
      [['d', 'h', 'c', 0], null],
      [['d', 'h', 'c', 1], { _id: 'p' }],
      [['d', 'h', 'c', 2], { _id: 'h' }],
      [['d', 'h', 'c', 3], { _id: 'd' }],
    ])
  })

  it('of words', () => {
    const doc = {
      _id: 'abc',
      type: 'person',
      name: 'Mary mary Jo',
      age: 34,
      alive: true,
      geolocation: 'somewhere',
      created_date: 'yesterday',
      list: ['words'],
    }
    const words = keys(CLIENT, 'contacts_by_freetext', doc)
    assert.deepEqual(words, [['mary'], ['name:mary mary jo'], ['age:34']])
    assert.deepEqual(keys(CLIENT, 'contacts_by_type_freetext', doc)[0], ['person', 'mary'])
    assert.deepEqual(keys(CLIENT, 'contacts_by_freetext', { type: 'contact', name: 'Mary' }), [])
    assert.deepEqual(keys(CLIENT, 'reports_by_freetext', { ...REPORT, _id: 'r' }), [
      ['form:v'],
      ['patient_id:s1'],
      ['year:2020'],
      ['month:3'],
      ['week_number:9'],
      ['contact:p'],
    ])
  })

  it('of words have the rules of what is searched', () => {
    const texts = [
      'ÀÉÎ',
      'NGUYỄN'.normalize('NFD'),
      'İstanbul',
      '९८४१',
      'ΣΊΣΥΦΟΣ',
      '𞤀𞤣𞤢𞤥𞤢',
      'straße',
    ]
    for (const text of texts) {
      const [first] = keys(CLIENT, 'contacts_by_freetext', { type: 'person', name: text })
      assert.deepEqual(first, [normalizeTerm(text)])
    }
  })

  it('of reports, messages and others', () => {
    assert.deepEqual(keys(CLIENT, 'reports_by_place', REPORT), [['c'], ['h']])
    assert.deepEqual(
      keys(CLIENT, 'reports_by_subject', { ...REPORT, patient_id: 's1', case_id: 2 }),
      ['s1', '2'],
    )
    assert.deepEqual(keys(CLIENT, 'reports_by_validity', { ...REPORT, errors: [] }), [[true]])
    assert.deepEqual(keys(CLIENT, 'reports_by_validity', { ...REPORT, errors: [1] }), [[false]])
    assert.deepEqual(rows(CLIENT, 'reports_by_verification', { ...REPORT, verified: false }), [
      [[false], 5],
    ])
    assert.deepEqual(rows(CLIENT, 'reports_by_date', REPORT), [[[5], 5]])
    assert.deepEqual(rows(CLIENT, 'reports_by_form', REPORT), [[['V'], 5]])
    assert.deepEqual(keys(CLIENT, 'registered_patients', REPORT), ['s1'])
    assert.deepEqual(keys(CLIENT, 'data_records_by_type', REPORT), ['report'])
    assert.deepEqual(keys(CLIENT, 'data_records_by_type', { type: 'data_record' }), ['message'])
    assert.deepEqual(keys(CLIENT, 'doc_by_type', REPORT), [['data_record']])
    assert.deepEqual(
      rows(CLIENT, 'doc_by_type', { type: 'translations', enabled: true, code: 'en', name: 'E' }),
      [[['translations', true], { code: 'en', name: 'E' }]],
    )
    assert.deepEqual(rows(CLIENT, 'docs_by_id_lineage', REPORT), [
      [['r', 0], null],
      [['r', 1], { _id: 'p' }],
      [['r', 2], { _id: 'c' }],
      [['r', 3], { _id: 'h' }],
    ])
    const visit = {
      ...REPORT,
      fields: { visited_contact_uuid: 'c', visited_date: '1970-01-01T00:00:00.007Z' },
    }
    assert.deepEqual(rows(CLIENT, 'contacts_by_last_visited', visit), [['c', 7]])
    assert.deepEqual(rows(CLIENT, 'contacts_by_last_visited', CLINIC), [['c', 0]])
    assert.deepEqual(rows(CLIENT, 'visits_by_date', visit), [
      [7, 'c'],
      [['c', 7], null],
    ])
    const message = { _id: 'm', type: 'data_record', reported_date: 3, from: '+1', sms_message: {} }
    assert.deepEqual(rows(CLIENT, 'messages_by_contact_date', message), [
      [['+1', 3], { id: 'm', date: 3, contact: '+1' }],
    ])
    assert.deepEqual(
      keys(CLIENT, 'tasks_by_contact', {
        type: 'task',
        owner: 'o',
        requester: 'q',
        state: 'Ready',
      }),
      ['owner-o', 'requester-q', ['owner', 'all', 'o']],
    )
  })
})

describe('views of the other design documents', () => {
  it('have the rows that services ask for', () => {
    const task = {
      state: 'sent',
      due: 4,
      gateway_ref: 'g',
      messages: [{ uuid: 'u', to: '+1', message: 'hi' }],
      state_history: [
        { state: 'pending', timestamp: 1 },
        { state: 'sent', timestamp: 6 },
      ],
    }
    const doc = { _id: 'd', tasks: [task] }
    assert.deepEqual(keys(ADMIN, 'message_queue', doc), [
      ['due', 4],
      ['delivered', 4],
    ])
    assert.deepEqual(
      keys(ADMIN, 'message_queue', { tasks: [{ state: 'muted', due: 1, message_key: 'k' }] }),
      [['muted', 1]],
    )
    assert.deepEqual(
      keys(ADMIN, 'contacts_by_dhis_orgunit', {
        ...CLINIC,
        agg: [{ orgUnit: 'a' }],
        dhis: { orgUnit: 'b' },
      }),
      ['a', 'b'],
    )
    assert.deepEqual(rows(SMS, 'gateway_messages_by_state', doc), [
      ['sent', { id: 'u', gateway_ref: 'g' }],
    ])
    assert.deepEqual(rows(SMS, 'messages_by_gateway_ref', doc), [['g', 'u']])
    assert.deepEqual(keys(SMS, 'messages_by_last_updated_state', doc), [['final', 6, 'sent']])
    assert.deepEqual(keys(SMS, 'messages_by_uuid', doc), ['u'])
    assert.deepEqual(keys(CONFLICTS, 'conflicts', { _conflicts: ['1-a'] }), [['1-a']])
    assert.deepEqual(keys(SCRIPTS, 'places_by_type_parent_id_name', CLINIC), [
      ['clinic', 'h', 'Home'],
    ])
    assert.deepEqual(keys(SENTINEL_DESIGN, 'outbound_push_tasks', { type: 'task:outbound' }), [
      null,
    ])
    assert.deepEqual(
      keys(USERS_META_DESIGN, 'feedback_by_date', { type: 'feedback', meta: { time: 't' } }),
      ['t'],
    )
    assert.deepEqual(
      keys(USERS_DESIGN, 'users_by_field', { contact_id: 'c', facility_id: ['a', 'b'] }),
      [
        ['contact_id', 'c'],
        ['facility_id', 'a'],
        ['facility_id', 'b'],
      ],
    )
    assert.deepEqual(
      keys(LOGS_DESIGN, 'connected_users', { _id: 'connected-user-x', timestamp: 3 }),
      [3],
    )
    assert.deepEqual(
      keys(LOGS_DESIGN, 'replication_limit', { _id: 'r', user: 'x', count: 10001 }),
      ['x'],
    )
    const telemetry = {
      _id: 't',
      type: 'telemetry',
      metadata: {
        user: 'u',
        deviceId: 'd',
        year: 2020,
        month: 2,
        day: 3,
        versions: { app: '4', settings: '1-a' },
      },
      device: {
        userAgent: 'A',
        deviceInfo: { app: { version: 'x' }, software: { androidVersion: '9' } },
      },
    }
    assert.deepEqual(rows(USERS_META_DESIGN, 'device_by_user', telemetry), [
      [
        ['u', 'd'],
        {
          date: '2020-02-03',
          id: 't',
          device: {
            userAgent: 'A',
            versions: { apk: 'x', android: '9', app: '4', settings: '1-a' },
          },
        },
      ],
    ])
  })
})
