/**
 * The application's whole route table; reads like a contents page. Each line: path, who may by method, handlers. A
 * literal segment beats a parameter, so `contact/uuid` is a list and any other `contact/…` one contact.
 */
import type { AccessRule } from '../../app/access/access-rule.ts'
import { applicationDatabase } from '../../base/product-names.ts'
import type { AppHandler, AppRoute } from './app-exchange.ts'
import { postBulkDelete } from './bulk-delete.ts'
import { getContact, getContactIds, getContacts, postContactSummary } from './contacts.ts'
import { contactsByPhone, hydrate } from './hydrate.ts'
import { getIdentity, postLogin, postPasswordReset } from './login.ts'
import { getPerson, getPersons, postPeople, postPerson, putPerson } from './people.ts'
import { getPlace, getPlaces, postPlace, postPlaces, postPlacesId, putPlace } from './places.ts'
import { getReplicationIds, postReplicationDeletes, putPersonalDatabase } from './replication.ts'
import {
  getReport,
  getReportIds,
  getReports,
  postReport,
  postReportSummary,
  putReport,
} from './reports.ts'
import {
  getDeprecatedTransitions,
  getInfo,
  getLegacySettings,
  getSettings,
  putSettings,
} from './settings.ts'
import { postTokenLogin, postWithoutToken } from './token-login.ts'
import {
  getUsersV1,
  getUsersV2,
  getUserV2,
  postUser,
  postUsersV1,
  postUsersV2,
  postUsersV3,
  removeUser,
} from './users.ts'
import { getUsersDocCount, getUsersInfo } from './users-info.ts'

const MAIN = `/${applicationDatabase()}`
const LEGACY = `${MAIN}/_design/${applicationDatabase()}/_rewrite`

const EVERYBODY: AccessRule = { everybody: true }
const LOGGED_IN: AccessRule = {}
const CONFIGURERS: AccessRule = { all: ['can_edit', 'can_configure'] }
const READ_CONTACTS: AccessRule = { online: 'permission', all: ['can_view_contacts'] }
const READ_REPORTS: AccessRule = { online: 'permission', all: ['can_view_reports'] }
const ONLINE: AccessRule = { online: 'firewall' }
const ADMINS: AccessRule = { admin: true }

const onlineWithAny = (...any: string[]): AccessRule => ({ online: 'permission', any })
const withAll = (...all: string[]): AccessRule => ({ all })

type Line = readonly [rule: AccessRule, handler: AppHandler]

function route(path: string, lines: Readonly<Record<string, Line>>, prompts = false): AppRoute {
  const entries = Object.entries(lines)
  return {
    path,
    methods: Object.fromEntries(entries.map(([method, [, handler]]) => [method, handler])),
    access: Object.fromEntries(entries.map(([method, [rule]]) => [method, rule])),
    prompts,
  }
}

const CREATE_USERS = withAll('can_edit', 'can_create_users')
const SEE_USERS = withAll('can_view_users')

const PROMPTS = true

export const APP_ROUTES: readonly AppRoute[] = [
  route('/api/info', { GET: [{ everybody: true, needsNothing: true }, getInfo] }),

  route(
    '/api/v1/settings',
    { GET: [LOGGED_IN, getSettings], PUT: [CONFIGURERS, putSettings] },
    PROMPTS,
  ),
  route('/api/v1/settings/deprecated-transitions', { GET: [LOGGED_IN, getDeprecatedTransitions] }),
  route(`${LEGACY}/app_settings${MAIN}`, { GET: [LOGGED_IN, getLegacySettings] }, PROMPTS),
  route(
    `${LEGACY}/app_settings${MAIN}/{path...}`,
    { GET: [LOGGED_IN, getLegacySettings] },
    PROMPTS,
  ),
  route(`${LEGACY}/update_settings${MAIN}`, { PUT: [CONFIGURERS, putSettings] }, PROMPTS),

  route('/api/v1/contact', { GET: [READ_CONTACTS, getContacts] }),
  route('/api/v1/contact/uuid', { GET: [READ_CONTACTS, getContactIds] }),
  route('/api/v1/contact/summary', { POST: [READ_CONTACTS, postContactSummary] }),
  route('/api/v1/contact/{uuid}', { GET: [READ_CONTACTS, getContact] }),

  route('/api/v1/person', {
    GET: [READ_CONTACTS, getPersons],
    POST: [onlineWithAny('can_create_people', 'can_edit'), postPerson],
  }),
  route('/api/v1/person/{uuid}', {
    GET: [READ_CONTACTS, getPerson],
    PUT: [onlineWithAny('can_update_people', 'can_edit'), putPerson],
  }),
  route('/api/v1/people', { POST: [withAll('can_edit', 'can_create_people'), postPeople] }),

  route('/api/v1/place', {
    GET: [READ_CONTACTS, getPlaces],
    POST: [onlineWithAny('can_create_places', 'can_edit'), postPlace],
  }),
  route('/api/v1/place/{uuid}', {
    GET: [READ_CONTACTS, getPlace],
    PUT: [onlineWithAny('can_update_places', 'can_edit'), putPlace],
  }),
  route('/api/v1/places', { POST: [withAll('can_edit', 'can_create_places'), postPlaces] }),
  route('/api/v1/places/{id}', { POST: [withAll('can_edit', 'can_update_places'), postPlacesId] }),

  route('/api/v1/report', {
    GET: [READ_REPORTS, getReports],
    POST: [onlineWithAny('can_create_records', 'can_edit'), postReport],
  }),
  route('/api/v1/report/uuid', { GET: [READ_REPORTS, getReportIds] }),
  route('/api/v1/report/summary', { POST: [READ_REPORTS, postReportSummary] }),
  route('/api/v1/report/{uuid}', {
    GET: [READ_REPORTS, getReport],
    PUT: [onlineWithAny('can_update_reports', 'can_edit'), putReport],
  }),

  route('/api/v1/bulk-delete', {
    POST: [{ online: 'firewall', all: ['can_edit'] }, postBulkDelete],
  }),
  route('/api/v1/hydrate', { GET: [ONLINE, hydrate], POST: [ONLINE, hydrate] }),
  route('/api/v1/contacts-by-phone', {
    GET: [ONLINE, contactsByPhone],
    POST: [ONLINE, contactsByPhone],
  }),

  route('/api/v1/users', {
    GET: [SEE_USERS, getUsersV1],
    POST: [CREATE_USERS, postUsersV1],
  }),
  route('/api/v2/users', {
    GET: [SEE_USERS, getUsersV2],
    POST: [CREATE_USERS, postUsersV2],
  }),
  route('/api/v3/users', { POST: [CREATE_USERS, postUsersV3] }),
  // Users change themselves, and see themselves: the handlers decide.
  route('/api/v1/users/{username}', {
    POST: [LOGGED_IN, postUser],
    DELETE: [withAll('can_delete_users'), removeUser],
  }),
  route('/api/v2/users/{username}', { GET: [LOGGED_IN, getUserV2] }),
  route('/api/v3/users/{username}', { POST: [LOGGED_IN, postUser] }),

  route('/api/v1/users-info', { GET: [LOGGED_IN, getUsersInfo] }),
  route('/api/v1/users-doc-count', { GET: [ADMINS, getUsersDocCount] }, PROMPTS),
  route('/api/v1/replication/get-ids', { GET: [LOGGED_IN, getReplicationIds] }),
  route('/api/v1/replication/get-deletes', { POST: [LOGGED_IN, postReplicationDeletes] }),
  route('/{personal}', { PUT: [LOGGED_IN, putPersonalDatabase] }),

  route(`${MAIN}/login`, { POST: [EVERYBODY, postLogin] }),
  route(`${MAIN}/login/token`, { POST: [EVERYBODY, postWithoutToken] }),
  route(`${MAIN}/login/token/{token}`, { POST: [EVERYBODY, postTokenLogin] }),
  route(`${MAIN}/login/identity`, { GET: [EVERYBODY, getIdentity] }),
  route(`${MAIN}/password-reset`, { POST: [EVERYBODY, postPasswordReset] }),
]
