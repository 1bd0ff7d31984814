/** When a record was reported, from whatever senders tell: milliseconds, a text with many digits, a date. Pure. */
import { parseTimestamp } from '../documents/timestamp.ts'

/** @param nowMs where nothing is told, or nothing that is a point in time */
export function reportedDateOf(given: unknown, nowMs: number): number {
  if (typeof given === 'number') return isTime(given) ? given : nowMs
  if (typeof given !== 'string' || given.trim() === '') return nowMs
  const digits = /\d{13,}/.exec(given)?.[0]
  if (digits !== undefined && isTime(Number(digits))) return Number(digits)
  const ms = parseTimestamp(given) ?? Date.parse(given)
  return isTime(ms) ? ms : nowMs
}

const isTime = (ms: number): boolean => !Number.isNaN(new Date(ms).getTime())
