/**
 * Analyzers: text to terms with positions, the same way for documents and for queries.
 *
 * Words follow Unicode: runs of letters, digits and marks, with apostrophes and dots inside words and dots and commas
 * inside numbers. Han and Hiragana are taken character by character, because they have no spaces and dictionaries cut
 * them differently from context to context; Thai, Lao, Khmer and Burmese are cut by ICU's dictionaries. Terms are
 * normalised (NFKC) and in lower case, except where an analyzer promises the text as it is. There is no stemming.
 */
import { isJsonArray, isJsonObject, type JsonValue, member } from '../json-value.ts'
import { indexFailure } from '../mango-failure.ts'
import { printTermReadably } from '../print-term.ts'
import { STOP_WORDS } from './stop-words.ts'

/** Terms in order; each one's position is its place in the list. Empty texts hold a place for a stop word. */
export type Analyzer = (text: string) => readonly string[]

/** Longer terms are cut: nobody asks for them, and they would fill the index. */
export const TERM_CHARS_MAX = 255

/** The analyzers of the fields of an index. Fails with `index_invalid` for an unknown one. */
export function parseAnalyzer(json: JsonValue): (field: string) => Analyzer {
  if (isJsonObject(json) && member(json, 'name') === 'perfield') {
    const otherwise = parseOne(member(json, 'default') ?? 'standard')
    const fields = member(json, 'fields') ?? {}
    if (!isJsonObject(fields)) throw unknown(json)
    const own = new Map(Object.entries(fields).map(([name, one]) => [name, parseOne(one)]))
    return field => own.get(field) ?? otherwise
  }
  const one = parseOne(json)
  return () => one
}

function parseOne(json: JsonValue): Analyzer {
  const name = isJsonObject(json) ? member(json, 'name') : json
  if (typeof name !== 'string') throw unknown(json)
  const given = isJsonObject(json) ? member(json, 'stopwords') : undefined
  if (given !== undefined && !isTexts(given)) throw unknown(json)
  const plain = PLAIN.get(name)
  if (plain !== undefined) return given === undefined ? plain : withoutWords(plain, given)
  const words = STOP_WORDS.get(name)
  if (words === undefined) throw unknown(json)
  return withoutWords(standard, given ?? words)
}

const isTexts = (json: JsonValue): json is readonly string[] =>
  isJsonArray(json) && json.every(item => typeof item === 'string')

const unknown = (json: JsonValue) =>
  indexFailure('invalid_index', `Unknown analyzer: ${printTermReadably(json)}`)

const WORD =
  /[\p{L}\p{N}\p{M}_]+(?:(?:(?<=[\p{L}\p{M}])['’.](?=\p{L})|(?<=\p{N})[.,](?=\p{N}))[\p{L}\p{N}\p{M}_]+)*/gu
const LETTERS = /[\p{L}\p{M}]+/gu
const EMAIL = /[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}]/u
const DICTIONARY = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const CHARACTER =
  /[\p{Script=Han}\p{Script=Hiragana}]\p{M}*|[^\p{Script=Han}\p{Script=Hiragana}]+/gu

const folded = (text: string): string => text.normalize('NFKC').toLowerCase()
const cut = (term: string): string => term.slice(0, TERM_CHARS_MAX)

const keyword: Analyzer = text => [text]
const whitespace: Analyzer = text => text.split(/\s+/u).filter(Boolean).map(cut)
const simple: Analyzer = text => (folded(text).match(LETTERS) ?? []).map(cut)

const standard: Analyzer = text => {
  const terms: string[] = []
  for (const word of folded(text).match(WORD) ?? []) addWord(terms, word)
  return terms
}

/** Addresses stay whole; the text between them is cut into words. */
const email: Analyzer = text => {
  const terms: string[] = []
  const whole = folded(text)
  let at = 0
  for (const match of whole.matchAll(EMAIL)) {
    terms.push(...standard(whole.slice(at, match.index)), cut(match[0]))
    at = match.index + match[0].length
  }
  terms.push(...standard(whole.slice(at)))
  return terms
}

function addWord(terms: string[], word: string): void {
  if (UNSPACED.test(word)) {
    for (const part of word.match(CHARACTER) ?? []) {
      if (UNSPACED.test(part)) terms.push(part)
      else addWord(terms, part)
    }
  } else if (DICTIONARY.test(word)) {
    for (const { segment, isWordLike } of segmenter.segment(word)) {
      if (isWordLike) terms.push(cut(segment))
    }
  } else terms.push(cut(word))
}

const segmenter = new Intl.Segmenter('en', { granularity: 'word' })

/** A stop word leaves its place empty, so that phrases keep their distances. */
function withoutWords(analyzer: Analyzer, words: readonly string[]): Analyzer {
  const set = new Set(words.map(folded))
  return text => analyzer(text).map(term => (set.has(term) ? '' : term))
}

const PLAIN: ReadonlyMap<string, Analyzer> = new Map([
  ['keyword', keyword],
  ['standard', standard],
  ['classic', standard],
  ['simple', simple],
  ['whitespace', whitespace],
  ['email', email],
  ['cjk', standard],
  ['chinese', standard],
  ['japanese', standard],
  ['thai', standard],
])
