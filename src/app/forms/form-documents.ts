/**
 * XForms as they are stored: documents whose id begins with `form:`, with the form itself as an attachment. Documents in
 * that range which are something else, or have no form, are none.
 */
import { type Document, isObject, type JsonObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'

export interface StoredForm {
  readonly document: Document
  /** By which clients ask for it. */
  readonly internalId: string | undefined
  /** The attachment that is the XForm. */
  readonly xform: string
  /** Changes whenever the XForm does. */
  readonly digest: string
  /** For other apps than ours: these do the transformation themselves. */
  readonly isForCollect: boolean
}

const PREFIX = 'form:'
/** Generated from a form, so it is not the form. */
export const MODEL_NAME = 'model.xml'
export const PAGE_NAME = 'form.html'

/** Undefined for documents that are no forms. */
export function storedFormOf(document: Document): StoredForm | undefined {
  if (!isFormId(document._id) || document.type !== 'form') return undefined
  const attachments = isObject(document._attachments) ? document._attachments : {}
  const names = Object.keys(attachments)
  const xform = names.find(name => name === 'xml' || (name.endsWith('.xml') && name !== MODEL_NAME))
  if (xform === undefined) return undefined
  const { internalId, context } = document
  return {
    document,
    internalId: typeof internalId === 'string' && internalId !== '' ? internalId : undefined,
    xform,
    digest: String((attachments[xform] as JsonObject).digest),
    isForCollect: isObject(context) && Boolean(context.collect),
  }
}

export const isFormId = (id: string): boolean => id.startsWith(PREFIX)

/** In the order of their ids. */
export async function* listForms(
  data: DocumentDatabase,
): AsyncGenerator<StoredForm, void, undefined> {
  for await (const batch of data.list({ start: PREFIX, end: `${PREFIX}\ufff0` })) {
    for (const document of batch) {
      const form = storedFormOf(document)
      if (form !== undefined) yield form
    }
  }
}

export async function findForm(
  data: DocumentDatabase,
  internalId: string,
): Promise<StoredForm | undefined> {
  for await (const form of listForms(data)) if (form.internalId === internalId) return form
  return undefined
}

/** Larger forms exist nowhere; reading one must not fill the memory. */
const XFORM_BYTES_MAX = 32 * 1024 * 1024

/** The XForm itself. Fails with `attachment_too_large`, or `attachment_missing` when it has changed meanwhile. */
export const readXform = (data: DocumentDatabase, form: StoredForm): Promise<Buffer> =>
  data.readAttachment(form.document._id, form.xform, XFORM_BYTES_MAX)
