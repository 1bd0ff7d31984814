/**
 * Walks every route of the application's API as every kind of person, and compares with the table. A new route without a
 * line fails, and so does a line without a route. Who has which permission is for the tests of the application: here
 * nobody but the server admin has any.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { APP_ROUTES } from '../../../src/http/app/routes.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { type Expectation, fateOf, keyOf, parseTable } from './access-table.ts'
import { APP_ACCESS } from './app-access.ts'
import { as, PEOPLE, type Person, registerPeople } from './people.ts'

const table = parseTable(APP_ACCESS)

const routed = APP_ROUTES.flatMap(({ path, methods }) =>
  Object.keys(methods).map(method => keyOf(method, path)),
)

/** Where an empty body would be a refusal of another kind. */
const BODIES: Readonly<Record<string, unknown>> = {
  'POST /svc/login': { user: 'mia', password: 'pw-m' },
  'POST /api/v1/records': { _meta: { form: 'A' } },
  'POST /api/v2/records': { _meta: { form: 'A' } },
}

async function walk(
  server: TestServer,
  { method, path, fates }: Expectation,
): Promise<Record<Person, string>> {
  const found: [Person, string][] = []
  const url = path.replace(/\{(\w+)(\.\.\.)?\}/g, 'a')
  const hasBody = method === 'POST' || method === 'PUT'
  const body = hasBody ? { body: BODIES[keyOf(method, path)] ?? {} } : {}
  for (const person of PEOPLE) {
    const { status } = await server.ask(method, url, { ...body, ...as(person) })
    found.push([person, fateOf(status, fates[person])])
  }
  return Object.fromEntries(found) as Record<Person, string>
}

describe('the table of access to the application', () => {
  it('has a line for every route and method, and no other', () => {
    assert.deepEqual([...table.keys()].sort(), [...routed].sort())
  })
})

describe('access to every route of the application', () => {
  let server: TestServer
  before(async () => {
    const settings = { svc_httpd_auth: { secret: 'secret', iterations: '1' } }
    server = await startServer({ application: true, settings })
    await registerPeople(server)
    const forms = { A: { fields: {} } }
    await server.ask('PUT', '/api/v1/settings', { body: { forms } })
  })
  after(() => server.close())
  for (const [key, expectation] of table) {
    it(key, async () => {
      assert.deepEqual(await walk(server, expectation), expectation.fates)
    })
  }
})
