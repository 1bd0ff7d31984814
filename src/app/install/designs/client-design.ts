/** `_design/svc-client`: what lists and searches of people, places, reports and messages need. */
import { FREETEXT_VIEWS } from './freetext-words.ts'
import {
  CHAIN,
  type DesignDefinition,
  IS_CONTACT,
  IS_RECORD,
  reducedView,
  SORT_TEXT,
  TO_MS,
  TYPE_ID,
  type ViewDefinition,
  view,
} from './map-function.ts'

const VISIT = `
var visited = isReport && fields.visited_contact_uuid;
var visitMs = toMs(fields.visited_date) || toMs(doc.reported_date) || 0;
`

const LATEST = `function (keys, values) {
  return values.reduce(function (latest, value) {
    return latest && latest.date >= value.date ? latest : value;
  }, null);
}`

const CONTACT_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  contacts_by_last_visited: reducedView(
    '_stats',
    `
if (visited) emit(visited, visitMs);
if (isContact) emit(doc._id, 0);
`,
    IS_CONTACT,
    IS_RECORD,
    TO_MS,
    VISIT,
  ),
  contacts_by_parent: view(
    `if (isContact && doc.parent && doc.parent._id) emit([doc.parent._id, typeId], null);`,
    IS_CONTACT,
    TYPE_ID,
  ),
  contacts_by_phone: view(`if (isContact && doc.phone) emit(doc.phone, null);`, IS_CONTACT),
  contacts_by_place: view(
    `
if (!isContact) return;
chain(doc.parent).forEach(function (id) {
  emit([id], place + ' ' + lowerName);
});
`,
    IS_CONTACT,
    TYPE_ID,
    SORT_TEXT,
    CHAIN,
  ),
  contacts_by_reference: view(
    `
if (!isContact && doc.type !== 'national_office') return;
[doc.place_id, doc.patient_id].forEach(function (code) {
  if (code) emit(['shortcode', String(code)], doc.reported_date);
});
if (doc.rc_code) emit(['external', String(doc.rc_code).toUpperCase()], doc.reported_date);
`,
    IS_CONTACT,
  ),
  contacts_by_type: reducedView(
    '_count',
    `if (isContact) emit([typeId], sortText);`,
    IS_CONTACT,
    TYPE_ID,
    SORT_TEXT,
  ),
  total_clinics_by_facility: view(
    `
var above = isContact ? chain(doc.parent) : [];
if (above.length < 2 || (doc.type !== 'clinic' && doc.type !== 'contact')) return;
var parent = above[0];
var grandparent = above[1];
emit([grandparent, parent, doc._id, 0], null);
if (idOf(doc.contact)) emit([grandparent, parent, doc._id, 1], { _id: idOf(doc.contact) });
above.forEach(function (id, index) {
  emit([grandparent, parent, doc._id, index + 2], { _id: id });
});
`,
    IS_CONTACT,
    CHAIN,
  ),
}

const REPORT_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  data_records_by_type: reducedView(
    '_count',
    `if (isRecord) emit(isReport ? 'report' : 'message', null);`,
    IS_RECORD,
  ),
  registered_patients: view(
    `
if (!isReport || (doc.errors && doc.errors.length)) return;
[doc.patient_id || fields.patient_id, doc.place_id || fields.place_id].forEach(function (code) {
  if (code) emit(String(code), null);
});
`,
    IS_RECORD,
  ),
  reports_by_date: view(`if (isReport) emit([doc.reported_date], doc.reported_date);`, IS_RECORD),
  reports_by_form: reducedView(
    '_count',
    `if (isReport) emit([doc.form], doc.reported_date);`,
    IS_RECORD,
  ),
  reports_by_place: view(
    `
if (!isReport) return;
chain(doc.contact && doc.contact.parent).forEach(function (id) {
  emit([id], doc.reported_date);
});
`,
    IS_RECORD,
    CHAIN,
  ),
  reports_by_subject: view(
    `
if (!isReport) return;
var seen = [];
[
  doc.patient_id, doc.place_id, doc.case_id,
  fields.patient_id, fields.place_id, fields.case_id, fields.patient_uuid, fields.place_uuid
].forEach(function (subject) {
  if (!subject || seen.indexOf(String(subject)) >= 0) return;
  seen.push(String(subject));
  emit(String(subject), doc.reported_date);
});
`,
    IS_RECORD,
  ),
  reports_by_validity: view(
    `if (isReport) emit([!doc.errors || doc.errors.length === 0], doc.reported_date);`,
    IS_RECORD,
  ),
  reports_by_verification: view(
    `if (isReport) emit([doc.verified], doc.reported_date);`,
    IS_RECORD,
  ),
  visits_by_date: view(
    `
if (!visited) return;
emit(visitMs, visited);
emit([visited, visitMs], null);
`,
    IS_RECORD,
    TO_MS,
    VISIT,
  ),
}

const OTHER_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  doc_by_type: view(`
if (doc.type === 'translations') {
  emit(['translations', doc.enabled], { code: doc.code, name: doc.name });
} else emit([doc.type], null);
`),
  docs_by_id_lineage: view(
    `
var ids = isContact ? [doc._id].concat(chain(doc.parent))
  : isReport ? [doc._id].concat(chain(doc.contact)) : [];
ids.forEach(function (id, depth) {
  emit([doc._id, depth], isReport && depth === 0 ? null : { _id: id });
});
`,
    IS_CONTACT,
    IS_RECORD,
    CHAIN,
  ),
  messages_by_contact_date: reducedView(
    LATEST,
    `
if (!isRecord || doc.form) return;
function emitMessage(contact, phone) {
  var key = contact || phone || doc._id;
  emit([key, doc.reported_date], { id: doc._id, date: doc.reported_date, contact: key });
}
if (doc.kujua_message) {
  (doc.tasks || []).forEach(function (task) {
    var message = task.messages && task.messages[0];
    if (message) emitMessage(idOf(message.contact), message.to);
  });
} else if (doc.sms_message) emitMessage(idOf(doc.contact), doc.from);
`,
    IS_RECORD,
    CHAIN,
  ),
  tasks_by_contact: view(`
if (doc.type !== 'task') return;
var isTerminal = ['Cancelled', 'Completed', 'Failed'].indexOf(doc.state) >= 0;
var owner = doc.owner || '_unassigned';
if (!isTerminal) emit('owner-' + owner, null);
if (doc.requester) emit('requester-' + doc.requester, null);
emit(['owner', 'all', owner], { state: doc.state });
`),
}

export const clientDesign = (name: string): DesignDefinition => ({
  name: `${name}-client`,
  views: { ...CONTACT_VIEWS, ...FREETEXT_VIEWS, ...REPORT_VIEWS, ...OTHER_VIEWS },
})
