/** The settings of a new installation: roles, who may do what, and the usual hierarchy of places and people. */
import type { JsonObject } from '../documents/document.ts'

const ONLINE_ROLES = [
  'national_admin',
  'data_entry',
  'analytics',
  'gateway',
  'program_officer',
  'crfo',
]
const OFFLINE_ROLES = ['chw_supervisor', 'chw']

const FIELD = ['program_officer', 'chw_supervisor', 'chw']
const OFFICER = ['program_officer']

/** Roles -> permissions that exactly these roles hold. */
const GRANTS: readonly (readonly [readonly string[], readonly string[]])[] = [
  [
    FIELD,
    [
      'can_bulk_delete_reports',
      'can_create_people',
      'can_create_places',
      'can_delete_contacts',
      'can_delete_messages',
      'can_delete_reports',
      'can_edit_profile',
      'can_edit_verification',
      'can_export_contacts',
      'can_update_places',
      'can_update_reports',
      'can_verify_reports',
      'can_view_analytics_tab',
      'can_view_call_action',
      'can_view_contacts',
      'can_view_contacts_tab',
      'can_view_message_action',
      'can_view_messages',
      'can_view_messages_tab',
      'can_view_reports',
      'can_view_reports_tab',
    ],
  ],
  [
    ['gateway', ...FIELD],
    ['can_edit', 'can_view_unallocated_data_records'],
  ],
  [['data_entry', 'gateway', ...FIELD], ['can_create_records']],
  [
    ['analytics', ...FIELD],
    ['can_export_messages', 'can_view_analytics'],
  ],
  [
    OFFICER,
    [
      'can_create_users',
      'can_delete_users',
      'can_export_feedback',
      'can_update_users',
      'can_view_outgoing_messages',
      'can_view_users',
      'can_upgrade',
    ],
  ],
  [
    ['program_officer', 'crfo'],
    ['can_configure', 'can_export_all'],
  ],
  [['national_admin', 'crfo'], ['can_export_dhis']],
  [['national_admin'], ['can_export_devices_details']],
  [['gateway'], ['can_access_gateway_api']],
  [
    ['chw_supervisor', 'chw'],
    ['can_view_tasks', 'can_view_tasks_tab', 'can_get_task_notifications'],
  ],
  [['chw'], ['can_view_tasks_group']],
  [['chw_supervisor'], ['can_aggregate_targets']],
  [
    [],
    [
      'can_log_out_on_android',
      'can_view_last_visited_date',
      'can_view_uhc_stats',
      'can_write_wealth_quintiles',
      'can_view_old_navigation',
      'can_default_facility_filter',
      'can_have_multiple_places',
      'can_skip_password_change',
      'can_track_task_interactions',
    ],
  ],
]

export const DEFAULT_PERMISSIONS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  GRANTS.flatMap(([roles, permissions]) =>
    permissions.map(permission => [permission, roles] as const),
  ).sort(([a], [b]) => (a < b ? -1 : 1)),
)

const contactType = (id: string, more: JsonObject): JsonObject => ({
  id,
  name_key: `contact.type.${id}`,
  group_key: `contact.type.${id}.plural`,
  create_key: `contact.type.${id}.new`,
  edit_key: `contact.type.${id}.edit`,
  icon: `icon-${id}`,
  create_form: `form:contact:${id}:create`,
  edit_form: `form:contact:${id}:edit`,
  ...more,
})

const placeType = (id: string, more: JsonObject): JsonObject =>
  contactType(id, { primary_contact_key: `${id}.field.contact`, ...more })

export const DEFAULT_SETTINGS: JsonObject = {
  locale: 'en',
  locale_outgoing: 'en',
  languages: [{ locale: 'en', enabled: true }],
  date_format: 'DD-MMM-YYYY',
  reported_date_format: 'DD-MMM-YYYY HH:mm:ss',
  default_country_code: 1,
  phone_validation: 'full',
  forms_only_mode: false,
  district_admins_access_unallocated_messages: false,
  replication_depth: [],
  transitions: {},
  contact_types: [
    placeType('district_hospital', {}),
    placeType('health_center', { parents: ['district_hospital'] }),
    placeType('clinic', { parents: ['health_center'], count_visits: true }),
    contactType('person', {
      person: true,
      parents: ['district_hospital', 'health_center', 'clinic'],
    }),
  ],
  roles: Object.fromEntries([
    ...ONLINE_ROLES.map(role => [role, { name: `usertype.${role}` }]),
    ...OFFLINE_ROLES.map(role => [role, { name: `usertype.${role}`, offline: true }]),
  ]),
  permissions: DEFAULT_PERMISSIONS,
}
