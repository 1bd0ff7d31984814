/**
 * Texts in the languages of an installation, from the documents `messages-{code}`: what people changed (`custom`) before
 * what came with the application (`generic`, of old `values`). A text that a language lacks is taken from English; one
 * that nobody has is its own key.
 */
import { printRevision } from '../../core/document/revision.ts'
import { isObject, type JsonObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { renderTemplate } from './template.ts'

const PREFIX = 'messages-'
const FALLBACK = 'en'

export class Translations {
  readonly #texts: ReadonlyMap<string, JsonObject>

  /** @param texts language code -> key -> text */
  constructor(texts: ReadonlyMap<string, JsonObject> = new Map()) {
    this.#texts = texts
  }

  /** Undefined where nobody has the text. */
  find(key: string, locale: string): string | undefined {
    return this.#textOf(locale, key) ?? this.#textOf(FALLBACK, key)
  }

  /** With `{{name}}` filled in from the values. */
  translate(key: string, locale: string, values?: JsonObject): string {
    const text = this.find(key, locale) ?? key
    return values === undefined ? text : renderTemplate(text, values)
  }

  #textOf(locale: string, key: string): string | undefined {
    const texts = this.#texts.get(locale)
    const text = texts !== undefined && Object.hasOwn(texts, key) ? texts[key] : undefined
    return typeof text === 'string' ? text : undefined
  }
}

/** Reads them when they changed: every call looks at the revisions, which costs one short scan. */
export class TranslationStore {
  readonly #data: DocumentDatabase
  #known: { readonly revs: string; readonly translations: Translations } | undefined

  constructor(data: DocumentDatabase) {
    this.#data = data
  }

  async current(): Promise<Translations> {
    const database = await this.#data.open()
    const range = { start: PREFIX, end: `${PREFIX}\ufff0`, withoutOffset: true }
    const { rows } = await database.listDocuments('all', range)
    const views = []
    for await (const batch of rows) for (const row of batch) views.push(row.view({}))
    const revs = views.map(({ id, rev }) => `${id} ${printRevision(rev)}`).join()
    if (this.#known?.revs === revs) return this.#known.translations
    const texts = views.map(({ id, body }) => textsOf(id, JSON.parse(body.toString())))
    const translations = new Translations(new Map(texts))
    this.#known = { revs, translations }
    return translations
  }
}

/** One store for a database, for those who have nowhere to keep one. */
const STORES = new WeakMap<DocumentDatabase, TranslationStore>()

export const currentTranslations = (data: DocumentDatabase): Promise<Translations> => {
  const store = STORES.get(data) ?? new TranslationStore(data)
  STORES.set(data, store)
  return store.current()
}

function textsOf(id: string, document: JsonObject): [string, JsonObject] {
  const { code, values, generic, custom } = document
  const parts = [values, generic, custom].map(part => (isObject(part) ? part : {}))
  const locale = typeof code === 'string' && code !== '' ? code : id.slice(PREFIX.length)
  return [locale, Object.assign({}, ...parts) as JsonObject]
}
