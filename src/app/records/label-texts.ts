/**
 * Labels of fields as people read them: a plain text, the key of a translation, or texts by language (`{en: …}` or
 * `{translations: [{locale, content}]}`). A language that is not there falls back to English, then to whatever is.
 */
import { isObject, type JsonObject } from '../documents/document.ts'
import type { Translations } from '../messages/translations.ts'

export interface LabelReader {
  /** Undefined for what is no label. */
  read(label: unknown): string | undefined
}

export class Labels implements LabelReader {
  readonly #translations: Translations
  readonly #locale: string

  constructor(translations: Translations, locale: string) {
    this.#translations = translations
    this.#locale = locale
  }

  read(label: unknown): string | undefined {
    if (typeof label === 'string') return label
    if (typeof label === 'number') return String(label)
    if (!isObject(label)) return undefined
    if (typeof label.translation_key === 'string') {
      return this.#translations.translate(label.translation_key, this.#locale)
    }
    return this.#choose(Array.isArray(label.translations) ? byLocale(label.translations) : label)
  }

  #choose(texts: JsonObject): string | undefined {
    for (const locale of [this.#locale, 'en', ...Object.keys(texts)]) {
      const text = Object.hasOwn(texts, locale) ? texts[locale] : undefined
      if (typeof text === 'string') return text
    }
    return undefined
  }
}

const byLocale = (translations: readonly unknown[]): JsonObject =>
  Object.fromEntries(
    translations.flatMap(item =>
      isObject(item) && typeof item.locale === 'string' ? [[item.locale, item.content]] : [],
    ),
  )
