/** Design documents of the other databases: background work, telemetry and feedback, accounts, logs. */
import { type DesignDefinition, reducedView, view } from './map-function.ts'

/** The row with the latest date, of rows and of earlier results alike. */
const LATEST_DEVICE = `function (keys, values) {
  return values.reduce(function (latest, value) {
    return latest && latest.date >= value.date ? latest : value;
  }, null);
}`

export const SENTINEL_DESIGN: DesignDefinition = {
  name: 'sentinel',
  views: {
    outbound_push_tasks: reducedView(
      '_count',
      `if (doc.type === 'task:outbound') emit(null, null);`,
    ),
  },
}

export const USERS_META_DESIGN: DesignDefinition = {
  name: 'users-meta',
  views: {
    device_by_user: reducedView(
      LATEST_DEVICE,
      `
if (doc.type !== 'telemetry' || !doc.metadata || !doc.metadata.user || !doc.metadata.deviceId) return;
var metadata = doc.metadata;
function two(number) {
  return number < 10 ? '0' + number : String(number);
}
var day = metadata.day || 1;
var date = metadata.year + '-' + two(metadata.month) + '-' + two(day);
var device = doc.device || {};
var info = device.deviceInfo || {};
var versions = metadata.versions || {};
emit([metadata.user, metadata.deviceId], {
  date: date,
  id: doc._id,
  device: {
    userAgent: device.userAgent,
    versions: {
      apk: info.app && info.app.version,
      android: info.software && info.software.androidVersion,
      app: versions.app,
      settings: versions.settings
    },
    storage: info.storage
  }
});
`,
    ),
    feedback_by_date: reducedView(
      '_count',
      `if (doc.type === 'feedback' && doc.meta && doc.meta.time) emit(doc.meta.time, null);`,
    ),
  },
}

/** Members of an account that decide what its user gets to see; people may change their own accounts otherwise. */
const ACCOUNT_MEMBERS = [
  'facility_id',
  'contact_id',
  'token_login',
  'oidc_username',
  'password_change_required',
]

const VALIDATE_ACCOUNT = `function (newDoc, oldDoc, userCtx, secObj) {
  var admins = (secObj && secObj.admins) || {};
  var roles = userCtx.roles || [];
  var isAdmin = roles.indexOf('_admin') >= 0 ||
    (admins.names || []).indexOf(userCtx.name) >= 0 ||
    (admins.roles || []).some(function (role) { return roles.indexOf(role) >= 0; });
  if (isAdmin || newDoc._deleted) return;
  ${JSON.stringify(ACCOUNT_MEMBERS)}.forEach(function (name) {
    var before = oldDoc && !oldDoc._deleted ? oldDoc[name] : undefined;
    if (JSON.stringify(before) !== JSON.stringify(newDoc[name])) {
      throw { forbidden: 'You are not authorized to edit ' + name };
    }
  });
}`

export const USERS_DESIGN: DesignDefinition = {
  name: 'users',
  validateUpdate: VALIDATE_ACCOUNT,
  views: {
    users_by_field: view(`
if (doc.contact_id) emit(['contact_id', doc.contact_id], null);
[].concat(doc.facility_id || []).forEach(function (id) {
  if (id) emit(['facility_id', id], null);
});
if (doc.oidc_username) emit(['oidc_username', doc.oidc_username], null);
`),
  },
}

export const LOGS_DESIGN: DesignDefinition = {
  name: 'logs',
  views: {
    connected_users: reducedView(
      '_count',
      `if (doc._id.indexOf('connected-user-') === 0) emit(doc.timestamp, null);`,
    ),
    replication_limit: reducedView('_count', `if (doc.count > 10000) emit(doc.user, null);`),
    replication_failures: reducedView(
      '_sum',
      `
if (doc._id.indexOf('replication-fail-') !== 0) return;
emit([doc.date, doc.user], doc.count || 1);
`,
    ),
  },
}
