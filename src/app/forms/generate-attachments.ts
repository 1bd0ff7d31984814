/**
 * The page and the data of a form, kept beside it as attachments that follow from it. A form is written only when one of
 * them is another than before: one more revision after each upload that changed something.
 */
import { isFailure } from '../../base/errors.ts'
import type { ApplicationContext } from '../application-context.ts'
import type { Document, JsonObject } from '../documents/document.ts'
import {
  MODEL_NAME,
  PAGE_NAME,
  readXform,
  type StoredForm,
  storedFormOf,
} from './form-documents.ts'
import type { FormTransformer } from './transformer/form-transformer.ts'

const BYTES_MAX = 64 * 1024 * 1024

/**
 * True when the document was written. A document that is no form, or one that somebody changed meanwhile, is left alone:
 * the change that was made meanwhile is its own occasion. Fails with `form_invalid` when it cannot be transformed.
 */
export async function generateFormAttachments(
  { data }: Pick<ApplicationContext, 'data'>,
  document: Document,
  transformer: FormTransformer,
): Promise<boolean> {
  const form = storedFormOf(document)
  if (form === undefined || form.isForCollect) return false
  try {
    const { form: page, model } = await transformer.transform(await readXform(data, form))
    const parts = [
      { name: PAGE_NAME, type: 'text/html', bytes: Buffer.from(page) },
      { name: MODEL_NAME, type: 'text/xml', bytes: Buffer.from(model) },
    ]
    const changed: JsonObject[] = []
    for (const { name, type, bytes } of parts) {
      if (await isStored({ data }, form, name, bytes)) continue
      changed.push({ [name]: { content_type: type, data: bytes.toString('base64') } })
    }
    if (changed.length === 0) return false
    const attachments = Object.assign({}, document._attachments, ...changed) as JsonObject
    await data.put({ ...document, _attachments: attachments })
    return true
  } catch (thrown) {
    if (isFailure(thrown, 'document_conflict') || isGone(thrown)) return false
    throw thrown
  }
}

const isGone = (thrown: unknown): boolean =>
  isFailure(thrown, 'document_missing') || isFailure(thrown, 'attachment_missing')

async function isStored(
  { data }: Pick<ApplicationContext, 'data'>,
  { document }: StoredForm,
  name: string,
  bytes: Buffer,
): Promise<boolean> {
  const attachments = (document._attachments ?? {}) as JsonObject
  if (!Object.hasOwn(attachments, name)) return false
  return bytes.equals(await data.readAttachment(document._id, name, BYTES_MAX))
}
