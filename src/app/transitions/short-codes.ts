/**
 * Short ids that people send in messages: digits of which the last one checks the others. Unique over all documents.
 *
 * An id is taken by writing a small document of its name before anybody uses it, so two processes never give out the
 * same one. Where most of a length are taken, ids get longer. An id that was taken and never used may be taken again
 * after an hour: whoever had taken it is gone.
 */
import { Failure } from '../../base/errors.ts'
import type { Document } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import type { Lookups } from './lookups.ts'

export const RESERVATION_PREFIX = 'shortcode:'
const LENGTH_ID = 'shortcode-id-length'
const LENGTH_FIRST = 5
const LENGTH_MAX = 13
const CANDIDATES = 200
/** An hour. */
const FORGOTTEN_MS = 3_600_000
const CONFLICTS_MAX = 10

export interface ShortCodeParts {
  readonly data: DocumentDatabase
  readonly sentinel: DocumentDatabase
  readonly lookups: Lookups
  readonly clock: () => number
  /** Of an integer below a limit. */
  readonly random: (limit: number) => number
  /** How many are taken at once: each time costs a commit. */
  readonly count: number
}

export class ShortCodes {
  readonly #parts: ShortCodeParts
  #taken: string[] = []

  constructor(parts: ShortCodeParts) {
    this.#parts = parts
  }

  async next(): Promise<string> {
    for (;;) {
      const code = this.#taken.pop()
      if (code !== undefined) return code
      await this.#takeMore()
    }
  }

  async #takeMore(): Promise<void> {
    const length = await this.#length()
    const free = await this.#free(length)
    const { count } = this.#parts
    for (let at = 0; at < free.length && this.#taken.length === 0; at += count) {
      this.#taken = await this.#reserve(free.slice(at, at + count))
    }
    if (this.#taken.length === 0) await this.#lengthen(length)
  }

  async #free(length: number): Promise<string[]> {
    const { lookups, random } = this.#parts
    const digits = length - 1
    // In two halves: a number of twelve digits is more than a random one may be.
    const part = (count: number): string =>
      count === 0 ? '' : String(random(10 ** count)).padStart(count, '0')
    const candidates = new Set<string>()
    for (let at = 0; at < CANDIDATES; at++) {
      const high = Math.floor(digits / 2)
      candidates.add(withChecksum(part(high) + part(digits - high)))
    }
    const codes = [...candidates]
    const texts = codes.map(code => JSON.stringify(code))
    const rows = await lookups.rows('docs_by_shortcode', texts)
    return codes.filter((_, index) => rows.get(texts[index] as string)?.length === 0)
  }

  /** Those of the codes that nobody else has taken. */
  async #reserve(codes: readonly string[]): Promise<string[]> {
    const { sentinel, clock } = this.#parts
    const ids = codes.map(code => RESERVATION_PREFIX + code)
    const earlier = await sentinel.getMany(ids)
    const wanted: Document[] = []
    for (const [index, _id] of ids.entries()) {
      const before = earlier[index]
      const reserved = Number(before?.reserved_date ?? 0)
      if (before !== undefined && clock() - reserved < FORGOTTEN_MS) continue
      wanted.push({ ...before, _id, type: 'shortcode', reserved_date: clock() })
    }
    const outcomes = await sentinel.putMany(wanted)
    return outcomes.flatMap(outcome =>
      outcome.ok ? [outcome.id.slice(RESERVATION_PREFIX.length)] : [],
    )
  }

  async #length(): Promise<number> {
    const document = await this.#parts.data.get(LENGTH_ID)
    const length = Number(document?.current_length ?? LENGTH_FIRST)
    return Number.isInteger(length) && length > 1 ? Math.min(length, LENGTH_MAX) : LENGTH_FIRST
  }

  async #lengthen(length: number): Promise<void> {
    if (length >= LENGTH_MAX) {
      throw new Failure('unexpected', { reason: 'there are no short ids left' })
    }
    const { data } = this.#parts
    for (let attempt = 1; ; attempt++) {
      const document = (await data.get(LENGTH_ID)) ?? { _id: LENGTH_ID }
      // Somebody else was here.
      if (Number(document.current_length ?? LENGTH_FIRST) > length) return
      const [outcome] = await data.putMany([{ ...document, current_length: length + 1 }])
      if (outcome?.ok !== false) return
      if (attempt === CONFLICTS_MAX) throw outcome.failure
    }
  }
}

/** Digits weighted from their number plus one down to two; ten is written as zero. */
export function withChecksum(digits: string): string {
  let sum = 0
  for (let at = 0; at < digits.length; at++) sum += Number(digits[at]) * (digits.length + 1 - at)
  const rest = sum % 11
  return digits + (rest === 10 ? 0 : rest)
}
