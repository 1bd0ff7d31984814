/**
 * Words to search for. The same rules make the words of the indexes (`install/designs/freetext-words.ts`): lower case,
 * composed characters, and Devanagari digits as ASCII ones. Any script will do: words are what white space separates.
 */
import { invalid } from '../documents/refusal.ts'

export const TERM_LENGTH_MIN = 3

export interface FreetextTerm {
  readonly text: string
  /** `key:value` is looked up as it is; a word alone also finds longer words that begin with it. */
  readonly isPair: boolean
}

/** Fails with `request_invalid` for what cannot be searched for. */
export function parseFreetext(given: unknown): FreetextTerm {
  const text = typeof given === 'string' ? normalizeTerm(given) : ''
  const isPair = text.includes(':')
  if ([...text].length < TERM_LENGTH_MIN || (!isPair && /\s/.test(text))) {
    throw invalid(`Invalid freetext [${JSON.stringify(given)}].`)
  }
  return { text, isPair }
}

export const normalizeTerm = (text: string): string =>
  text
    .trim()
    .normalize('NFC')
    .toLowerCase()
    .replace(/[\u0966-\u096f]/g, digit => String(digit.charCodeAt(0) - 0x966))

/** The keys from which to which rows match, behind what all of them begin with. Indexes of words order by bytes. */
export function termRange({ text, isPair }: FreetextTerm, before: readonly unknown[] = []) {
  return isPair
    ? { startKey: [...before, text], endKey: [...before, text] }
    : { startKey: [...before, text], endKey: [...before, `${text}\u{10ffff}`] }
}
