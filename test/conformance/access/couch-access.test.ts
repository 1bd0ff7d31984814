/**
 * Walks every route of CouchDB's protocol as every kind of person, and compares with the table. A new route without a
 * line fails, and so does a line without a route.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ROUTES } from '../../../src/http/couch/routes.ts'
import { type AskOptions, startServer, type TestServer } from '../../support/start-server.ts'
import { type Expectation, fateOf, keyOf, parseTable } from './access-table.ts'
import { COUCH_ACCESS, COUCHDB_DIALECT_ACCESS, USERS_DATABASE_ACCESS } from './couch-access.ts'
import { as, makeDatabase, PEOPLE, type Person, registerPeople } from './people.ts'

const routed = ROUTES.flatMap(({ path, methods }) =>
  Object.keys(methods).map(method => keyOf(method, path)),
)

/** What stands for the parts of a path in braces. */
const PARTS: Readonly<Record<string, string>> = {
  ddoc: 'd',
  node: '_local',
  section: 'uuids',
  key: 'max_count',
  name: 'x',
  type: 'json',
  view: 'v',
}

/** Bodies with which the request can succeed: a refusal must not hide behind a malformed request. */
const BODIES: Readonly<Record<string, unknown>> = {
  'PUT /_node/{node}/_config/{section}/{key}': '"1000"',
  'POST /_session': { name: 'mia', password: 'pw-m' },
  'POST /_replicate': { cancel: true, replication_id: 'none' },
  'POST /_dbs_info': { keys: ['x'] },
  'POST /_cluster_setup': { action: 'finish_cluster' },
  'POST /{db}/_all_docs/queries': { queries: [] },
  'POST /{db}/_bulk_docs': { docs: [] },
  'POST /{db}/_bulk_get': { docs: [] },
  'POST /{db}/_find': { selector: {} },
  'POST /{db}/_explain': { selector: {} },
  'POST /{db}/_index': { index: { fields: ['a'] } },
  'POST /{db}/_index/_bulk_delete': { docids: ['_design/d'] },
  'PUT /{db}/_security': { admins: { names: ['dana'] }, members: { names: ['mia'] } },
  'PUT /{db}/_revs_limit': '1000',
  'PUT /{db}/_purged_infos_limit': '1000',
  'PUT /{db}/{id}/{name...}': 'x',
  'PUT /{db}/_design/{id}/{name...}': 'x',
}

const HEADERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'COPY /{db}/{id}': { Destination: 'copy' },
  'COPY /{db}/_design/{id}': { Destination: '_design/copy' },
  'COPY /{db}/_local/{id}': { Destination: '_local/copy' },
}

async function requestFor(
  server: TestServer,
  { method, path }: Expectation,
  database: string,
): Promise<[string, AskOptions]> {
  const key = keyOf(method, path)
  const place = path.replace(/\{(\w+)(\.\.\.)?\}/g, (_, part: string) => {
    if (part === 'db') return database
    if (part !== 'id') return PARTS[part] ?? 'a'
    if (path.includes('_design/{id}')) return 'd'
    return database === '_users' ? 'org.couchdb.user:mia' : 'doc'
  })
  // Attachments of design documents: a conflict would hide the refusal.
  const needsRev =
    path === '/{db}/_design/{id}/{name...}' && (method === 'PUT' || method === 'DELETE')
  const url = needsRev ? `${place}?rev=${await revOf(server, `/${database}/_design/d`)}` : place
  const hasBody = method === 'POST' || method === 'PUT'
  const body = hasBody ? (BODIES[key] ?? (isUser(key, database) ? MIA : {})) : undefined
  const headers = { ...(hasBody && { 'Content-Type': 'application/json' }), ...HEADERS[key] }
  return [url, { headers, ...(body === undefined ? {} : { body }) }]
}

const MIA = { name: 'mia', type: 'user', roles: [] }
const isUser = (key: string, database: string): boolean =>
  key === 'PUT /{db}/{id}' && database === '_users'

async function revOf(server: TestServer, path: string): Promise<string> {
  return ((await server.ask('GET', path)).json as { _rev: string })._rev
}

async function walk(
  server: TestServer,
  expectation: Expectation,
  database: string,
): Promise<Record<Person, string>> {
  const fates: [Person, string][] = []
  for (const person of PEOPLE) {
    const [url, options] = await requestFor(server, expectation, database)
    const { status } = await server.ask(expectation.method, url, { ...options, ...as(person) })
    fates.push([person, fateOf(status, expectation.fates[person])])
  }
  return Object.fromEntries(fates) as Record<Person, string>
}

const SETTINGS = { svc_httpd_auth: { secret: 'secret', iterations: '1' } }

/** Each line on a database of its own: some of them end it. */
function walkAll(
  dialect: 'spec' | 'couchdb',
  table: ReadonlyMap<string, Expectation>,
  options: { readonly database?: string } = {},
): void {
  let server: TestServer
  before(async () => {
    server = await startServer({ dialect, settings: SETTINGS })
    await registerPeople(server)
    await server.ask('PUT', '/_users/_design/d', { body: { language: 'query' } })
  })
  after(() => server.close())
  let number = 0
  for (const [key, expectation] of table) {
    it(key, async () => {
      const database = options.database ?? `db${number++}`
      if (database !== '_users' && key.includes('{db}')) await makeDatabase(server, database)
      assert.deepEqual(await walk(server, expectation, database), expectation.fates)
    })
  }
}

const table = parseTable(COUCH_ACCESS)

describe('the table of access', () => {
  it('has a line for every route and method, and no other', () => {
    assert.deepEqual([...table.keys()].sort(), [...routed].sort())
  })
})

describe('access to every route', () => {
  walkAll('spec', table)
})

describe('access in the dialect of CouchDB', () => {
  walkAll('couchdb', parseTable(COUCHDB_DIALECT_ACCESS))
})

describe('access to the users database', () => {
  walkAll('spec', parseTable(USERS_DATABASE_ACCESS), { database: '_users' })
})
