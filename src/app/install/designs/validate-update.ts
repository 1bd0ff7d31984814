/**
 * Who may write what into the main database, whichever way it comes in. Runs in the sandbox; a text therefore.
 * Administrators of the database may write everything but documents that a device has marked as purged.
 */
import {
  ADMIN_ONLY_IDS,
  ADMIN_ONLY_REASON,
  ADMIN_ONLY_TYPES,
} from '../../access/protected-documents.ts'

export const validateUpdate = `function (newDoc, oldDoc, userCtx, secObj) {
  function refuse(reason) {
    throw { forbidden: reason };
  }
  var userPrefixes = ['org.svc.user:', 'org.couchdb.user:'];
  var admins = (secObj && secObj.admins) || {};
  var roles = userCtx.roles || [];
  var isAdmin = roles.indexOf('_admin') >= 0 ||
    (admins.names || []).indexOf(userCtx.name) >= 0 ||
    (admins.roles || []).some(function (role) { return roles.indexOf(role) >= 0; });
  function isAdminOnly(doc) {
    return doc._id.indexOf('_design/') === 0 ||
      ${JSON.stringify(ADMIN_ONLY_IDS)}.indexOf(doc._id) >= 0 ||
      ${JSON.stringify(ADMIN_ONLY_TYPES)}.indexOf(doc.type) >= 0;
  }
  function checkForm() {
    if (newDoc._id.indexOf('form:') !== 0) {
      refuse('_id property must be prefixed with "form:". e.g. "form:registration"');
    }
    if (newDoc._id === 'form:') refuse('_id property must define a value after "form:".');
    if (newDoc._id !== newDoc._id.toLowerCase()) refuse('_id property must be lower case.');
  }
  function checkUserSettings() {
    var id = newDoc._id;
    var prefix = userPrefixes.filter(function (each) { return id.indexOf(each) === 0; })[0];
    if (!prefix) refuse('_id must be prefixed with "' + userPrefixes[0] + '".');
    var name = id.slice(prefix.length);
    if (id !== id.toLowerCase()) refuse('_id must be lower case.');
    if (newDoc.name !== name) refuse('name property must be equivalent to username. e.g. "' + name + '"');
    if (newDoc.known !== undefined && typeof newDoc.known !== 'boolean') refuse('known is not a boolean.');
    if (!Array.isArray(newDoc.roles)) refuse('roles is a required array');
    if (isAdmin) return;
    if (!oldDoc) refuse('You are not authorized to create ' + newDoc.type);
    if (JSON.stringify(oldDoc.roles) !== JSON.stringify(newDoc.roles)) {
      refuse('You are not authorized to edit roles');
    }
  }
  if (newDoc.purged) refuse('Purged documents should not be written to CouchDB!');
  if (isAdmin) return;
  if (!userCtx.name) refuse('You must be logged in to edit documents');
  if (isAdminOnly(newDoc) || (oldDoc && isAdminOnly(oldDoc))) {
    refuse(${JSON.stringify(ADMIN_ONLY_REASON)});
  }
  if (newDoc._deleted) return;
  if (newDoc.type === 'form') checkForm();
  if (newDoc.type === 'user-settings') checkUserSettings();
}`
