/** How good a password must be. Pure. */
const LENGTH_MIN = 8
const SCORE_MIN = 50
const KINDS = [/\d/, /[a-z]/, /[A-Z]/, /\W/]

export type PasswordWeakness = 'short' | 'weak'

/** Undefined for a password that is good enough. */
export function passwordWeakness(password: string): PasswordWeakness | undefined {
  if (password.length < LENGTH_MIN) return 'short'
  return scoreOf(password) < SCORE_MIN ? 'weak' : undefined
}

/** Length, variety of characters, and variety of kinds of characters. */
function scoreOf(password: string): number {
  const kinds = KINDS.filter(kind => kind.test(password)).length
  return password.length + 2 * new Set(password).size + 15 * (kinds - 1)
}

export const PASSWORD_LENGTH_MIN = LENGTH_MIN
