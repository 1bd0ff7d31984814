/**
 * The list of forms for OpenRosa clients: what each form says about itself, and a hash by which clients see changes. What
 * was read once is kept while the form stays the same.
 */
import { createHash } from 'node:crypto'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { listForms, readXform, type StoredForm } from './form-documents.ts'
import type { FormDescription, FormTransformer } from './transformer/form-transformer.ts'

export interface ListedForm extends FormDescription {
  /** MD5 of the XForm, in hexadecimal digits. */
  readonly hash: string
}

export interface FormListParts {
  readonly data: DocumentDatabase
  readonly transformer: FormTransformer
  readonly onFailure: (what: string, facts: Readonly<Record<string, unknown>>) => void
}

const KEPT_MAX = 1000

export class FormList {
  readonly #parts: FormListParts
  /** By the digest of the stored XForm. */
  readonly #known = new Map<string, ListedForm>()

  constructor(parts: FormListParts) {
    this.#parts = parts
  }

  /** In the order of their ids. A form that cannot be read is left out, and told in the log. */
  async collectForms(): Promise<ListedForm[]> {
    const listed: ListedForm[] = []
    for await (const form of listForms(this.#parts.data)) {
      if (!form.isForCollect) continue
      try {
        listed.push(this.#known.get(form.digest) ?? (await this.#read(form)))
      } catch (error) {
        this.#parts.onFailure('a form could not be read', { form: form.document._id, error })
      }
    }
    return listed
  }

  async #read(form: StoredForm): Promise<ListedForm> {
    const { data, transformer } = this.#parts
    const xml = await readXform(data, form)
    const description = await transformer.describe(xml)
    const listed = { ...description, hash: createHash('md5').update(xml).digest('hex') }
    if (this.#known.size >= KEPT_MAX) this.#known.delete(this.#known.keys().next().value as string)
    this.#known.set(form.digest, listed)
    return listed
  }
}
