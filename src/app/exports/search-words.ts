/**
 * Whether a document has the words somebody looks for. The rules are those of the indexes of words
 * (`install/designs/freetext-words.ts`); here they are asked of one document, without an index.
 */
import { type FreetextTerm, normalizeTerm, TERM_LENGTH_MIN } from '../contacts/freetext.ts'
import { idIn, isObject, type JsonObject } from '../documents/document.ts'

const VALUE_LENGTH_MAX = 1000

/** Words that are too short to be looked for are left out. */
export function parseSearch(given: unknown): FreetextTerm[] {
  if (typeof given !== 'string') return []
  return normalizeTerm(given)
    .split(/\s+/)
    .filter(word => [...word].length >= TERM_LENGTH_MIN)
    .map(text => ({ text, isPair: text.includes(':') }))
}

const SKIPPED = ['_id', '_rev', 'type', 'refid']
const REPORT_SKIPPED = [...SKIPPED, 'content']
const CONTACT_SKIPPED = [...SKIPPED, 'geolocation']

export function reportHasWords(report: JsonObject, terms: readonly FreetextTerm[]): boolean {
  const { fields, contact } = report
  return terms.every(
    term =>
      hasWord(report, term, REPORT_SKIPPED) ||
      (isObject(fields) && hasWord(fields, term, REPORT_SKIPPED)) ||
      isWord(`contact:${normalizeTerm(isObject(contact) ? (idIn(contact) ?? '') : '')}`, term),
  )
}

export const contactHasWords = (contact: JsonObject, terms: readonly FreetextTerm[]): boolean =>
  terms.every(term => hasWord(contact, term, CONTACT_SKIPPED))

function hasWord(object: JsonObject, term: FreetextTerm, skipped: readonly string[]): boolean {
  for (const name of Object.keys(object)) {
    const value = object[name]
    if (typeof value !== 'string' && typeof value !== 'number') continue
    const lower = name.toLowerCase()
    if (value === '' || value === 0 || skipped.includes(lower) || lower.endsWith('_date')) continue
    const text = typeof value === 'string' ? normalizeTerm(value) : String(value)
    if (isWord(`${lower}:${text}`, term)) return true
    if (typeof value === 'string' && text.split(/\s+/).some(word => isWord(word, term))) return true
  }
  return false
}

/** A pair is the whole; a word alone is also the beginning of a longer one. */
const isWord = (word: string, { text, isPair }: FreetextTerm): boolean =>
  (isPair ? word === text : word.startsWith(text)) && [...word].length <= VALUE_LENGTH_MAX
