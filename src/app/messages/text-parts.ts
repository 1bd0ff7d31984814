/**
 * How many parts a text needs on its way as SMS, and cutting it to so many. Texts of the GSM alphabet have 160 characters
 * in one part and 153 in each of several, all others 70 and 67 UTF-16 units; a few characters of the alphabet count twice.
 */
const BASIC = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?' +
    '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
)
const EXTENDED = new Set('\f^{}\\[~]|€')
const ELLIPSIS = '...'

interface Alphabet {
  readonly single: number
  readonly joined: number
  readonly widthOf: (character: string) => number
}

const GSM: Alphabet = {
  single: 160,
  joined: 153,
  widthOf: character => (EXTENDED.has(character) ? 2 : 1),
}
const WIDE: Alphabet = { single: 70, joined: 67, widthOf: character => character.length }

export function countParts(text: string): number {
  const alphabet = alphabetOf(text)
  const width = widthOf(text, alphabet)
  return width <= alphabet.single ? 1 : Math.ceil(width / alphabet.joined)
}

/** The text itself when it fits, else as much of it as fits with three dots at the end. */
export function cutToParts(text: string, partsMax: number): string {
  if (countParts(text) <= partsMax) return text
  const alphabet = alphabetOf(text)
  const room = (partsMax === 1 ? alphabet.single : alphabet.joined * partsMax) - ELLIPSIS.length
  let width = 0
  let kept = ''
  for (const character of text) {
    width += alphabet.widthOf(character)
    if (width > room) break
    kept += character
  }
  return kept + ELLIPSIS
}

function alphabetOf(text: string): Alphabet {
  for (const character of text) {
    if (!BASIC.has(character) && !EXTENDED.has(character)) return WIDE
  }
  return GSM
}

function widthOf(text: string, { widthOf: width }: Alphabet): number {
  let total = 0
  for (const character of text) total += width(character)
  return total
}
