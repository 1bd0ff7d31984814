/** Which form a message is for, and the message without the code. Pure. */

/** Characters without width, which phones put into texts unasked. */
const ZERO_WIDTH = /[\u200B-\u200D\uFEFF]/g

export const withoutZeroWidth = (text: string): string => text.replace(ZERO_WIDTH, '')

/** The first run of characters that separate nothing. */
const FIRST_WORD = /[^\s!\-,:#]+/

/** The code in upper case; undefined for a blank message. */
export function formCodeOf(message: string): string | undefined {
  const pieces = message.split('!', 3)
  if (pieces.length === 3) return (pieces[1] as string).toUpperCase()
  return FIRST_WORD.exec(message)?.[0].toUpperCase()
}

/** What follows the code of a message that begins with it, in any case of letters. */
export function withoutFormCode(message: string, code: string): string {
  const word = FIRST_WORD.exec(message)
  if (word === null || word[0].toUpperCase() !== code) return message.trim()
  const rest = message.slice(word.index + word[0].length)
  return rest.replace(/^[\s!\-,:#]+/, '').trim()
}
