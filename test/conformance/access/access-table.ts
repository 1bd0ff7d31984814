/**
 * The form of the tables of expectations: a line per route and method, with what becomes of each kind of person.
 *
 *     GET   /{db}/_all_docs   401  403  in  in  in
 *
 * `in`: let in, whatever the answer is then; `ok`: let in, and it was done; else the status of the refusal.
 */
import { PEOPLE, type Person } from './people.ts'

export type Fate = 'in' | 'ok' | '401' | '403' | '404' | '500'

export interface Expectation {
  readonly method: string
  readonly path: string
  readonly fates: Readonly<Record<Person, Fate>>
}

const FATES: readonly string[] = ['in', 'ok', '401', '403', '404', '500']

export function parseTable(text: string): Map<string, Expectation> {
  const expectations = new Map<string, Expectation>()
  for (const line of text.split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [method = '', path = '', ...fates] = line.trim().split(/\s+/)
    const isWhole = fates.length === PEOPLE.length && fates.every(fate => FATES.includes(fate))
    if (!isWhole) throw new Error(`a line that says not enough: ${line}`)
    const key = keyOf(method, path)
    if (expectations.has(key)) throw new Error(`two lines about ${key}`)
    const byPerson = Object.fromEntries(PEOPLE.map((person, at) => [person, fates[at]]))
    expectations.set(key, { method, path, fates: byPerson as Expectation['fates'] })
  }
  return expectations
}

export const keyOf = (method: string, path: string): string => `${method} ${path}`

/** What became of somebody, in the words of what was expected where that is true. */
export function fateOf(status: number, expected: Fate): string {
  const isRefused = status === 401 || status === 403
  if (expected === 'in' && !isRefused && status < 500) return expected
  if (expected === 'ok' && status < 300) return expected
  return String(status)
}
