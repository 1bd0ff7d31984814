/** Creating and replacing one report. */
import type { ApplicationContext } from '../application-context.ts'
import { ContactTypes } from '../contacts/contact-types.ts'
import {
  refuseChanges,
  refuseIdentity,
  reportedDateOf,
  requireObject,
  requireTexts,
} from '../contacts/field-rules.ts'
import { chainOf, type MinimalContact, minify, referenceTo } from '../contacts/lineage.ts'
import {
  type Document,
  idIn,
  isObject,
  isSameJson,
  isText,
  type JsonObject,
  without,
} from '../documents/document.ts'
import { invalid, notFound } from '../documents/refusal.ts'
import { isReport } from './read-report.ts'

/** Fails with `request_invalid`. */
export async function createReport(
  context: ApplicationContext,
  given: unknown,
): Promise<JsonObject> {
  const fields = requireObject(given)
  requireTexts(fields, ['form', 'contact'])
  refuseIdentity(fields)
  checkType(fields)
  const reportedDate = reportedDateOf(fields, context.clock())
  await requireForm(context, fields.form as string)
  const contact = await findSubmitter(context, fields.contact)
  const document: Document = {
    _id: context.data.newId(),
    ...without(fields, '_id', '_rev', 'patient', 'place'),
    type: 'data_record',
    reported_date: reportedDate,
    contact,
  }
  const { rev } = await context.data.put(document)
  return { ...document, _rev: rev }
}

/** Fails with `request_invalid` or `document_missing`. */
export async function updateReport(
  context: ApplicationContext,
  id: string,
  given: unknown,
): Promise<JsonObject> {
  const fields: Document = { ...requireObject(given), _id: id }
  if (!isText(fields._rev) || !isText(fields.form) || !isText(fields.type)) {
    throw invalid('Valid _id, _rev, form, and type fields must be provided.')
  }
  const stored = await context.data.get(id)
  if (stored === undefined || !isReport(stored)) {
    throw notFound(`Report record [${id}] not found.`)
  }
  checkType(fields)
  refuseChanges(['_rev', 'reported_date'], name => isSameJson(fields[name], stored[name]))
  if (idIn(fields.contact) === undefined) throw invalid('A contact must be provided.')
  if (fields.form !== stored.form) await requireForm(context, fields.form as string)
  const contact = await submitterFor(context, fields.contact, stored.contact)
  const { rev } = await context.data.put(minify({ ...fields, contact }))
  return { ...fields, _rev: rev }
}

function checkType({ type }: JsonObject): void {
  if (type !== undefined && type !== null && type !== 'data_record') {
    throw invalid('Report type must be "data_record".')
  }
}

async function requireForm({ data }: ApplicationContext, form: string): Promise<void> {
  if ((await data.get(`form:${form}`)) === undefined) {
    throw invalid(`Invalid form value [${form}].`)
  }
}

async function findSubmitter(
  { data, settings }: ApplicationContext,
  given: unknown,
): Promise<MinimalContact> {
  const id = idIn(given)
  const contact = id === undefined ? undefined : await data.get(id)
  if (contact === undefined || !ContactTypes.of(settings).isContact(contact)) {
    throw invalid(`Contact [${id}] not found.`)
  }
  return referenceTo(contact)
}

/** One that stays may be gone by now; what is stored about him stays then too. */
async function submitterFor(
  context: ApplicationContext,
  given: unknown,
  stored: unknown,
): Promise<unknown> {
  const isKept = isObject(given) && isObject(stored) && isSameJson(chainOf(given), chainOf(stored))
  return isKept ? stored : findSubmitter(context, given)
}
