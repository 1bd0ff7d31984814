/**
 * How the texts of map functions are put together: a body and the small functions it uses. They run in the sandbox, not
 * here, so they are texts; each has its own copies of what it uses.
 */
import type { JsonObject } from '../../documents/document.ts'

export interface ViewDefinition {
  readonly map: string
  readonly reduce?: string
  readonly options?: JsonObject
}

export interface DesignDefinition {
  /** Without `_design/`. */
  readonly name: string
  readonly views: Readonly<Record<string, ViewDefinition>>
  readonly validateUpdate?: string
}

export const mapFunction = (body: string, ...helpers: readonly string[]): string =>
  `function (doc) {\n${[...helpers, body].map(text => indent(text)).join('\n')}\n}`

export const view = (body: string, ...helpers: readonly string[]): ViewDefinition => ({
  map: mapFunction(body, ...helpers),
})

export const reducedView = (
  reduce: string,
  body: string,
  ...helpers: readonly string[]
): ViewDefinition => ({ map: mapFunction(body, ...helpers), reduce })

const indent = (text: string): string =>
  text
    .trim()
    .split('\n')
    .map(line => (line === '' ? '' : `  ${line}`))
    .join('\n')

export const IS_CONTACT = `
var isContact = ['contact', 'person', 'clinic', 'health_center', 'district_hospital'].indexOf(doc.type) >= 0;
`

export const IS_RECORD = `
var isRecord = doc.type === 'data_record';
var isReport = isRecord && !!doc.form;
var fields = doc.fields || {};
`

/** The type of a contact, configured or usual. */
export const TYPE_ID = `
var typeId = doc.type === 'contact' ? doc.contact_type : doc.type;
`

/** Ids from a link upwards; a link may be an id alone. */
export const CHAIN = `
function chain(link) {
  var ids = [];
  while (link && link._id && ids.length < 50) {
    ids.push(link._id);
    link = link.parent;
  }
  return ids;
}
function idOf(link) {
  return link && (link._id || (typeof link === 'string' ? link : undefined));
}
`

/** What lists of contacts are ordered by: the living, the not muted, the hierarchy, the name. */
export const SORT_TEXT = `
var rank = ['district_hospital', 'health_center', 'clinic', 'person'].indexOf(typeId);
var place = rank >= 0 ? rank : typeId;
var lowerName = typeof doc.name === 'string' ? doc.name.toLowerCase() : '';
var sortText = !!doc.date_of_death + ' ' + !!doc.muted + ' ' + place + ' ' + lowerName;
`

export const TO_MS = `
function toMs(value) {
  if (typeof value === 'number') return value;
  var ms = typeof value === 'string' ? Date.parse(value) : NaN;
  return isNaN(ms) ? undefined : ms;
}
`
