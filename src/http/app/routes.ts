/**
 * The application's whole route table; reads like a contents page. Each line: path, who may by method, handlers. A
 * literal segment beats a parameter, so `contact/uuid` is a list and any other `contact/…` one contact.
 */
import type { AccessRule } from '../../app/access/access-rule.ts'
import { applicationDatabase } from '../../base/product-names.ts'
import type { AppHandler, AppRoute } from './app-exchange.ts'
import { postBulkDelete } from './bulk-delete.ts'
import {
  getAssetLinks,
  getAttachmentSettings,
  getDeployInfo,
  getSetupPoll,
  getStartupProgress,
} from './client-start.ts'
import { getContact, getContactIds, getContacts, postContactSummary } from './contacts.ts'
import { putCredentials, putWithoutKey } from './credentials.ts'
import {
  aggregateExport,
  contactsExport,
  devicesExport,
  feedbackExport,
  messagesExport,
  reportsExport,
  unknownExport,
} from './exports.ts'
import { getForm, getForms, postFormValidation } from './forms.ts'
import { contactsByPhone, hydrate } from './hydrate.ts'
import { getIdentity, postLogin, postPasswordReset } from './login.ts'
import { getExpressMetrics, getExpressMetricsJson } from './metrics.ts'
import { getMonitoringV1, getMonitoringV2 } from './monitoring.ts'
import { handlersOf, postPeople, postPlaces, postPlacesId } from './people-and-places.ts'
import { postRecordV1, postRecordV2 } from './records.ts'
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
import {
  getSms,
  postAfricasTalkingMessage,
  postAfricasTalkingReport,
  postRapidProMessage,
  postSms,
} from './sms.ts'
import { postTokenLogin, postWithoutToken } from './token-login.ts'
import {
  deleteUpgrade,
  getCanUpgrade,
  getUpgrade,
  postComplete,
  postStage,
  postUpgrade,
} from './upgrades.ts'
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
/** Also while the application is not installed. */
const ALWAYS: AccessRule = { everybody: true, needsNothing: true }
const LOGGED_IN: AccessRule = {}
const CONFIGURERS: AccessRule = { all: ['can_edit', 'can_configure'] }
const READ_CONTACTS: AccessRule = { online: 'permission', all: ['can_view_contacts'] }
const READ_REPORTS: AccessRule = { online: 'permission', all: ['can_view_reports'] }
const ONLINE: AccessRule = { online: 'firewall' }
const ADMINS: AccessRule = { admin: 'required' }
const PROMPTED_ADMINS: AccessRule = { admin: 'prompted' }
const GATEWAYS: AccessRule = { all: ['can_access_gateway_api'] }

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

const UPGRADERS: AccessRule = { any: ['can_configure', 'can_upgrade'] }
const CREATE_USERS = withAll('can_edit', 'can_create_users')
const CREATE_RECORDS = withAll('can_create_records')
const SEE_USERS = withAll('can_view_users')

const PERSON = handlersOf('person')
const PLACE = handlersOf('place')

const EXPORT_AGGREGATE = ['can_export_aggregate', 'can_export_dhis']

function exportRoute(type: string, handler: AppHandler, ...permissions: string[]): AppRoute {
  const rule = onlineWithAny('can_export_all', ...permissions)
  return route(`/api/v2/export/${type}`, { GET: [rule, handler], POST: [rule, handler] })
}

const PROMPTS = true

export const APP_ROUTES: readonly AppRoute[] = [
  route('/api/info', { GET: [ALWAYS, getInfo] }),
  route('/api/v1/monitoring', { GET: [ALWAYS, getMonitoringV1] }),
  route('/api/v2/monitoring', { GET: [ALWAYS, getMonitoringV2] }),
  route('/api/v1/express-metrics', { GET: [ALWAYS, getExpressMetrics] }),
  route('/api/v1/express-metrics.json', { GET: [ALWAYS, getExpressMetricsJson] }),
  route('/api/deploy-info', { GET: [LOGGED_IN, getDeployInfo] }),
  route('/api/v1/startup-progress', { GET: [ALWAYS, getStartupProgress] }),
  route('/api/couch-config-attachments', { GET: [PROMPTED_ADMINS, getAttachmentSettings] }),
  route('/setup/poll', { GET: [ALWAYS, getSetupPoll] }),
  route('/.well-known/assetlinks.json', { GET: [EVERYBODY, getAssetLinks] }),

  route('/api/v1/upgrade', { POST: [UPGRADERS, postUpgrade] }),
  route('/api/v1/upgrade/stage', { POST: [UPGRADERS, postStage] }),
  route('/api/v1/upgrade/complete', { POST: [UPGRADERS, postComplete] }),
  route('/api/v2/upgrade', {
    GET: [UPGRADERS, getUpgrade],
    POST: [UPGRADERS, postUpgrade],
    DELETE: [UPGRADERS, deleteUpgrade],
  }),
  route('/api/v2/upgrade/stage', { POST: [UPGRADERS, postStage] }),
  route('/api/v2/upgrade/complete', { POST: [UPGRADERS, postComplete] }),
  route('/api/v2/upgrade/can-upgrade', { GET: [UPGRADERS, getCanUpgrade] }),

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
    GET: [READ_CONTACTS, PERSON.list],
    POST: [onlineWithAny('can_create_people', 'can_edit'), PERSON.create],
  }),
  route('/api/v1/person/{uuid}', {
    GET: [READ_CONTACTS, PERSON.read],
    PUT: [onlineWithAny('can_update_people', 'can_edit'), PERSON.replace],
  }),
  route('/api/v1/people', { POST: [withAll('can_edit', 'can_create_people'), postPeople] }),

  route('/api/v1/place', {
    GET: [READ_CONTACTS, PLACE.list],
    POST: [onlineWithAny('can_create_places', 'can_edit'), PLACE.create],
  }),
  route('/api/v1/place/{uuid}', {
    GET: [READ_CONTACTS, PLACE.read],
    PUT: [onlineWithAny('can_update_places', 'can_edit'), PLACE.replace],
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

  route('/api/v1/forms', { GET: [LOGGED_IN, getForms] }),
  {
    ...route('/api/v1/forms/validate', { POST: [withAll('can_configure'), postFormValidation] }),
    bareErrors: true,
  },
  route('/api/v1/forms/{form}', { GET: [LOGGED_IN, getForm] }),
  route('/api/v1/records', { POST: [CREATE_RECORDS, postRecordV1] }),
  route('/api/v2/records', { POST: [CREATE_RECORDS, postRecordV2] }),

  exportRoute('reports', reportsExport, 'can_export_messages'),
  exportRoute('messages', messagesExport, 'can_export_messages'),
  exportRoute('contacts', contactsExport, 'can_export_contacts'),
  exportRoute('feedback', feedbackExport, 'can_export_feedback'),
  exportRoute('user-devices', devicesExport, 'can_export_devices_details'),
  exportRoute('aggregate', aggregateExport('aggregate'), ...EXPORT_AGGREGATE),
  exportRoute('dhis', aggregateExport('dhis'), ...EXPORT_AGGREGATE),
  route('/api/v2/export/{type}', {
    GET: [EVERYBODY, unknownExport],
    POST: [EVERYBODY, unknownExport],
  }),

  route('/api/sms', { GET: [GATEWAYS, getSms], POST: [GATEWAYS, postSms] }),
  // Aggregators have no account: the handlers ask for the key they share.
  route('/api/v1/sms/africastalking/incoming-messages', {
    POST: [EVERYBODY, postAfricasTalkingMessage],
  }),
  route('/api/v1/sms/africastalking/delivery-reports', {
    POST: [EVERYBODY, postAfricasTalkingReport],
  }),
  // The product's first path of it is misspelt, and known so to those who call it.
  route('/api/v1/sms/radpidpro/incoming-messages', { POST: [EVERYBODY, postRapidProMessage] }),
  route('/api/v1/sms/rapidpro/incoming-messages', { POST: [EVERYBODY, postRapidProMessage] }),
  route('/api/v2/sms/rapidpro/incoming-messages', { POST: [EVERYBODY, postRapidProMessage] }),
  route('/api/v1/credentials', { PUT: [ADMINS, putWithoutKey] }),
  route('/api/v1/credentials/{key}', { PUT: [ADMINS, putCredentials] }),

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
