/** `_design/svc`: who belongs where, what replicates to whom, messages, counts of reports; and who may write what. */
import {
  CHAIN,
  type DesignDefinition,
  IS_CONTACT,
  IS_RECORD,
  reducedView,
  TO_MS,
  view,
} from './map-function.ts'
import { validateUpdate } from './validate-update.ts'

/** Documents that everybody has. */
const FOR_ALL = [
  'resources',
  'branding',
  'partners',
  'service-worker-meta',
  'zscore-charts',
  'settings',
  'privacy-policies',
  'extension-libs',
]

const REPLICATION_KEYS = `
if (${JSON.stringify(FOR_ALL)}.indexOf(doc._id) >= 0) return emit('_all', {});
if (doc.type === 'form' || doc.type === 'translations') return emit('_all', {});
if (isContact) return emit(doc._id, { type: doc.type });
if (doc.type === 'task') return emit(doc.user, { type: doc.type });
if (doc.type === 'target') return emit(doc.owner, { type: doc.type });
if (!isRecord) return;
var submitter = idOf(doc.contact);
var isUnknownSubject = (doc.errors || []).some(function (error) {
  return error.code === 'registration_not_found' || error.code === 'invalid_patient_id';
});
function outgoingContact() {
  var task = doc.tasks && doc.tasks[0];
  var message = task && task.messages && task.messages[0];
  return message && idOf(message.contact);
}
function subjectOf() {
  if (!doc.form) return doc.sms_message ? submitter : outgoingContact();
  if (submitter && isUnknownSubject) return submitter;
  return doc.patient_id || fields.patient_id || doc.place_id || fields.place_id ||
    fields.patient_uuid || submitter;
}
var subject = subjectOf() || '_unassigned';
var value = { type: doc.type, subject: subject };
if (doc.form && submitter) value.submitter = submitter;
if (fields.private) value.private = true;
if (fields.needs_signoff) value.needs_signoff = true;
emit(subject, value);
if (!fields.needs_signoff || !submitter) return;
chain(doc.contact).forEach(function (id) {
  if (id !== subject) emit(id, value);
});
`

const MESSAGES_BY_STATE = `
function emitTask(task) {
  var due = toMs(task.due) || toMs(task.timestamp) || toMs(doc.reported_date);
  if (!task.messages) return emit([task.state, due], {});
  task.messages.forEach(function (message) {
    if (!message.uuid || !message.to || !message.message) return;
    var value = { content: message.message, to: message.to, id: message.uuid };
    emit([task.state, due], value);
    if (task.state === 'pending' || task.state === 'forwarded-to-gateway') {
      emit(['pending-or-forwarded', due], value);
    }
  });
}
(doc.tasks || []).forEach(emitTask);
(doc.scheduled_tasks || []).forEach(emitTask);
`

const reportsByPeriod = (condition: string, period: string): string => `
var parent = isReport && doc.contact && idOf(doc.contact.parent);
if (!parent || !fields.year || !(${condition}) || !doc.reported_date) return;
emit([doc.form, fields.year, ${period}, parent, doc.reported_date], null);
`

const SUMMARY = `
function subjectOf() {
  var reference = doc.patient_id || fields.patient_id || fields.patient_uuid || doc.place_id ||
    fields.place_id;
  var subject = {};
  if (fields.patient_name) subject.name = fields.patient_name;
  if (reference) {
    subject.value = reference;
    subject.type = 'reference';
  } else if (fields.patient_name) {
    subject.value = fields.patient_name;
    subject.type = 'name';
  } else if ((doc.errors || []).some(isMissingSubject)) subject.type = 'unknown';
  return subject;
}
function isMissingSubject(error) {
  return error.code === 'sys.missing_fields' && (error.fields || []).some(function (field) {
    return ['patient_id', 'patient_uuid', 'patient_name', 'place_id'].indexOf(field) >= 0;
  });
}
if (isContact) {
  emit(doc._id, {
    _rev: doc._rev,
    name: doc.name || doc.phone,
    phone: doc.phone,
    type: doc.type,
    contact_type: doc.contact_type,
    contact: idOf(doc.contact),
    lineage: chain(doc.parent),
    date_of_death: doc.date_of_death,
    muted: doc.muted
  });
} else if (isReport) {
  emit(doc._id, {
    _rev: doc._rev,
    from: doc.from || doc.sent_by,
    phone: doc.contact && doc.contact.phone,
    form: doc.form,
    read: doc.read,
    valid: !doc.errors || !doc.errors.length,
    verified: doc.verified,
    reported_date: doc.reported_date,
    contact: idOf(doc.contact),
    lineage: chain(doc.contact && doc.contact.parent),
    subject: subjectOf(),
    case_id: doc.case_id || fields.case_id
  });
}
`

export const mainDesign = (name: string): DesignDefinition => ({
  name,
  validateUpdate,
  views: {
    contacts_by_depth: view(
      `
if (!isContact) return;
var value = { shortcode: doc.patient_id || doc.place_id, primary_contact: idOf(doc.contact) };
chain({ _id: doc._id, parent: doc.parent }).forEach(function (id, depth) {
  emit([id], value);
  emit([id, depth], value);
});
`,
      IS_CONTACT,
      CHAIN,
    ),
    contacts_by_primary_contact: view(
      `if (isContact && idOf(doc.contact)) emit(idOf(doc.contact), null);`,
      IS_CONTACT,
      CHAIN,
    ),
    docs_by_replication_key: view(REPLICATION_KEYS, IS_CONTACT, IS_RECORD, CHAIN),
    docs_by_shortcode: view(`
[doc.place_id, doc.patient_id, doc.case_id].forEach(function (code) {
  if (code) emit(code, null);
});
`),
    doc_summaries_by_id: view(SUMMARY, IS_CONTACT, IS_RECORD, CHAIN),
    messages_by_state: view(MESSAGES_BY_STATE, TO_MS),
    reports_by_form_and_parent: reducedView(
      '_stats',
      `
var parent = isReport && doc.contact && idOf(doc.contact.parent);
if (parent) emit([doc.form, parent], typeof doc.reported_date === 'number' ? doc.reported_date : 0);
`,
      IS_RECORD,
      CHAIN,
    ),
    reports_by_form_year_month_parent_reported_date: view(
      reportsByPeriod('fields.month || fields.month_num', 'fields.month || fields.month_num'),
      IS_RECORD,
      CHAIN,
    ),
    reports_by_form_year_week_parent_reported_date: view(
      reportsByPeriod('fields.week || fields.week_number', 'fields.week || fields.week_number'),
      IS_RECORD,
      CHAIN,
    ),
    tasks_in_terminal_state: view(`
if (doc.type !== 'task' || !doc.emission) return;
if (['Cancelled', 'Completed', 'Failed'].indexOf(doc.state) >= 0) emit(doc.emission.endDate, null);
`),
  },
})
