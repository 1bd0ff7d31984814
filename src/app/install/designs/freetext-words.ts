/**
 * The words of a document, for searching: the same rules as `contacts/freetext.ts` has for what is searched.
 *
 * Words and `name:value` pairs, each once a document; those too short or too long to be searched for are left out. The
 * indexes order by bytes, so that a range of keys is exactly the words with a common beginning, in every script.
 */
import {
  IS_CONTACT,
  IS_RECORD,
  mapFunction,
  SORT_TEXT,
  TYPE_ID,
  type ViewDefinition,
} from './map-function.ts'

const WORDS = `
var seen = {};
function normal(text) {
  return text.trim().normalize('NFC').toLowerCase().replace(/[\\u0966-\\u096f]/g, function (digit) {
    return String(digit.charCodeAt(0) - 0x966);
  });
}
function add(text) {
  var length = Array.from(text).length;
  if (length < 3 || length > 1000 || seen['=' + text]) return;
  seen['=' + text] = true;
  found(text);
}
function addMembers(object) {
  Object.keys(object).forEach(function (name) {
    var value = object[name];
    var lower = name.toLowerCase();
    if (!value || skipped.indexOf(lower) >= 0 || /_date$/.test(lower)) return;
    if (typeof value === 'string') {
      var text = normal(value);
      text.split(/\\s+/).forEach(add);
      add(lower + ':' + text);
    } else if (typeof value === 'number') add(lower + ':' + value);
  });
}
`

const RAW = { collation: 'raw' } as const

const contactWords = (key: string): ViewDefinition => ({
  map: mapFunction(
    `
if (!isContact || (doc.type === 'contact' && !doc.contact_type)) return;
var skipped = ['_id', '_rev', 'type', 'refid', 'geolocation'];
function found(word) {
  emit(${key}, sortText);
}
addMembers(doc);
`,
    IS_CONTACT,
    TYPE_ID,
    SORT_TEXT,
    WORDS,
  ),
  options: RAW,
})

export const FREETEXT_VIEWS: Readonly<Record<string, ViewDefinition>> = {
  contacts_by_freetext: contactWords('[word]'),
  contacts_by_type_freetext: contactWords('[typeId, word]'),
  reports_by_freetext: {
    map: mapFunction(
      `
if (!isReport) return;
var skipped = ['_id', '_rev', 'type', 'refid', 'content'];
function found(word) {
  emit([word], doc.reported_date);
}
addMembers(doc);
if (doc.fields && typeof doc.fields === 'object') addMembers(doc.fields);
if (doc.contact && doc.contact._id) add('contact:' + normal(String(doc.contact._id)));
`,
      IS_RECORD,
      WORDS,
    ),
    options: RAW,
  },
}
