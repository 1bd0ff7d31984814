/** A server with the application installed, some accounts, and the usual places and people. */
import assert from 'node:assert/strict'
import { type Answer, type AskOptions, startServer, type TestServer } from './start-server.ts'

/** Accounts by what they are; all have the password `secret`. */
export const PEOPLE = {
  /** Online, may do nearly everything. */
  officer: ['program_officer', 'mm-online'],
  /** Online, without any permission that matters here. */
  analyst: ['analytics', 'mm-online'],
  /** Offline. */
  worker: ['chw'],
} as const

export type PersonName = keyof typeof PEOPLE

export const as = (name: PersonName): string => `${name}:secret`

export interface TestApplication {
  readonly server: TestServer
  ask(method: string, url: string, options?: AskOptions): Promise<Answer>
  /** Writes documents into the main database. */
  store(...documents: readonly Record<string, unknown>[]): Promise<void>
  close(): Promise<void>
}

export async function startApplication(
  settings: Readonly<Record<string, Readonly<Record<string, string>>>> = {},
  clock: () => number = Date.now,
): Promise<TestApplication> {
  const server = await startServer({ application: true, settings, clock })
  for (const [name, roles] of Object.entries(PEOPLE)) {
    const body = { name, type: 'user', roles, password: 'secret' }
    const { status } = await server.ask('PUT', `/_users/org.svc.user:${name}`, { body })
    assert.equal(status, 201)
  }
  return {
    server,
    ask: (method, url, options) => server.ask(method, url, options),
    async store(...documents) {
      const { status, text } = await server.ask('POST', '/svc/_bulk_docs', {
        body: { docs: documents },
      })
      assert.equal(status, 201)
      assert.doesNotMatch(text, /"error"/)
    },
    close: () => server.close(),
  }
}

const link = (...ids: string[]): object | undefined =>
  ids.reduceRight<object | undefined>(
    (parent, _id) => (parent === undefined ? { _id } : { _id, parent }),
    undefined,
  )

/** A district with a health center with a clinic, people in them, and a report. */
export const HIERARCHY: readonly Record<string, unknown>[] = [
  { _id: 'district', type: 'district_hospital', name: 'Kisumu', place_id: '1001' },
  {
    _id: 'center',
    type: 'health_center',
    name: 'Lake Center',
    parent: link('district'),
    contact: link('nurse', 'center', 'district'),
  },
  {
    _id: 'clinic',
    type: 'clinic',
    name: 'Household One',
    place_id: '3001',
    parent: link('center', 'district'),
    contact: link('mother', 'clinic', 'center', 'district'),
    linked_docs: { neighbour: 'mother', lost: { _id: 'nobody' } },
  },
  { _id: 'nurse', type: 'person', name: 'Nadia Nurse', parent: link('center', 'district') },
  {
    _id: 'mother',
    type: 'person',
    name: 'Mary Smith',
    phone: '+12025550123',
    patient_id: '2001',
    reported_date: 1_600_000_000_000,
    parent: link('clinic', 'center', 'district'),
  },
  {
    _id: 'child',
    type: 'contact',
    contact_type: 'person',
    name: 'Zoë Smith',
    parent: link('clinic', 'center', 'gone'),
  },
  {
    _id: 'report',
    type: 'data_record',
    form: 'visit',
    reported_date: 1_700_000_000_000,
    fields: { patient_id: '2001', note: 'Fever since Monday' },
    contact: link('nurse', 'center', 'district'),
  },
  {
    _id: 'message',
    type: 'data_record',
    sms_message: { message: 'hello' },
    contact: link('nurse'),
  },
  { _id: 'form:visit', type: 'form', title: 'Visit' },
]
