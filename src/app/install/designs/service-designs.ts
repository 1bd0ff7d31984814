/** Design documents for administration, message gateways, conflicts and scripts of the main database. */
import {
  CHAIN,
  type DesignDefinition,
  IS_CONTACT,
  IS_RECORD,
  reducedView,
  TO_MS,
  view,
} from './map-function.ts'

const MESSAGE_GROUP = `
function groupOf(state) {
  if (['muted', 'cleared', 'denied', 'duplicate'].indexOf(state) >= 0) return 'muted';
  return state === 'scheduled' ? 'scheduled' : 'due';
}
function outcomeOf(state) {
  if (state === 'sent' || state === 'delivered') return 'delivered';
  return state === 'failed' ? 'failed' : undefined;
}
`

const MESSAGE_QUEUE = `
function emitRow(task, part) {
  var due = toMs(task.due) || toMs(task.timestamp) || toMs(doc.reported_date);
  var history = task.state_history || [];
  var value = {
    record: { id: doc._id, reported_date: doc.reported_date },
    task: {
      state_history: history.length ? [history[history.length - 1]] : undefined,
      state: task.state,
      group: task.group,
      translation_key: task.translation_key,
      type: task.type
    },
    due: due
  };
  if (part.sms) value.sms = part.sms;
  if (part.scheduled_sms) value.scheduled_sms = part.scheduled_sms;
  emit([groupOf(task.state), due], value);
  var outcome = outcomeOf(task.state);
  if (outcome) emit([outcome, due], value);
}
function emitTask(task) {
  var messages = task.messages || [];
  messages.forEach(function (message) {
    if (message.to && message.message) {
      emitRow(task, { sms: { message: message.message, to: message.to } });
    }
  });
  if (!messages.length && (task.translation_key || task.message_key || task.message)) {
    emitRow(task, {
      scheduled_sms: {
        translation_key: task.translation_key || task.message_key,
        recipient: task.recipient,
        content: task.message
      }
    });
  }
}
(doc.tasks || []).forEach(emitTask);
(doc.scheduled_tasks || []).forEach(emitTask);
`

const EACH_TASK = `
function eachTask(work) {
  (doc.tasks || []).forEach(work);
  (doc.scheduled_tasks || []).forEach(work);
}
function lastMs(task) {
  var history = task.state_history || [];
  var last = history[history.length - 1] || {};
  return toMs(last.timestamp) || toMs(task.timestamp) || toMs(doc.reported_date);
}
`

/** Whatever is neither over, stopped nor planned is on its way, states that nobody foresaw too. */
const STATE_GROUP = `
function groupOf(state) {
  if (['sent', 'delivered', 'failed'].indexOf(state) >= 0) return 'final';
  if (['denied', 'cleared', 'muted', 'duplicate'].indexOf(state) >= 0) return 'muted';
  return state === 'scheduled' ? 'scheduled' : 'pending';
}
`

const adminDesign = (name: string): DesignDefinition => ({
  name: `${name}-admin`,
  views: {
    contacts_by_dhis_orgunit: view(
      `
if (!isContact) return;
[].concat(doc.agg || [], doc.dhis || []).forEach(function (entry) {
  if (entry && entry.orgUnit) emit(entry.orgUnit, null);
});
`,
      IS_CONTACT,
    ),
    message_queue: reducedView('_count', MESSAGE_QUEUE, TO_MS, MESSAGE_GROUP),
  },
})

const smsDesign = (name: string): DesignDefinition => ({
  name: `${name}-sms`,
  views: {
    gateway_messages_by_state: view(
      `
eachTask(function (task) {
  if (!task.gateway_ref) return;
  (task.messages || []).forEach(function (message) {
    if (!message.uuid || !message.to || !message.message) return;
    emit(task.state, { id: message.uuid, gateway_ref: task.gateway_ref });
  });
});
`,
      TO_MS,
      EACH_TASK,
    ),
    messages_by_gateway_ref: view(
      `
eachTask(function (task) {
  var message = task.messages && task.messages[0];
  if (task.gateway_ref) emit(task.gateway_ref, message && message.uuid);
});
if (doc.sms_message && doc.sms_message.gateway_ref) {
  emit(doc.sms_message.gateway_ref, doc.sms_message.uuid);
}
`,
      TO_MS,
      EACH_TASK,
    ),
    messages_by_last_updated_state: reducedView(
      '_count',
      `
eachTask(function (task) {
  if (task.state) emit([groupOf(task.state), lastMs(task), task.state], null);
});
`,
      TO_MS,
      EACH_TASK,
      STATE_GROUP,
    ),
    messages_by_uuid: view(
      `
eachTask(function (task) {
  (task.messages || []).forEach(function (message) {
    if (message.uuid) emit(message.uuid, null);
  });
});
`,
      TO_MS,
      EACH_TASK,
    ),
  },
})

const conflictsDesign = (name: string): DesignDefinition => ({
  name: `${name}-conflicts`,
  views: { conflicts: reducedView('_count', `if (doc._conflicts) emit(doc._conflicts, null);`) },
})

const scriptsDesign = (name: string): DesignDefinition => ({
  name: `${name}-scripts`,
  views: {
    data_records: view(
      `
if (!isRecord) return;
var isValid = !doc.errors || doc.errors.length === 0;
var date = doc.reported_date;
emit([date], null);
if (isReport) {
  emit([isValid, date], null);
  emit([doc.form, date], null);
  emit([isValid, doc.form, date], null);
}
chain(doc.contact).forEach(function (id) {
  emit([id, date], null);
});
`,
      IS_RECORD,
      CHAIN,
    ),
    data_records_by_ancestor: view(
      `
if (!isRecord) return;
chain(doc.contact).forEach(function (id) {
  emit(id, null);
});
`,
      IS_RECORD,
      CHAIN,
    ),
    places_by_contact: view(
      `if (isContact && doc.type !== 'person' && idOf(doc.contact)) emit(idOf(doc.contact), null);`,
      IS_CONTACT,
      CHAIN,
    ),
    places_by_type_parent_id_name: view(
      `
if (!isContact || doc.type === 'person') return;
emit([doc.type, (doc.parent && doc.parent._id) || null, doc.name], { name: doc.name });
`,
      IS_CONTACT,
    ),
  },
})

export const serviceDesigns = (name: string): readonly DesignDefinition[] => [
  adminDesign(name),
  smsDesign(name),
  conflictsDesign(name),
  scriptsDesign(name),
]
