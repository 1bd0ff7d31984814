/** Days that a registration tells in some way or other: of the last period and with it of the birth to come, or of a birth. */
import type { JsonObject } from '../../documents/document.ts'
import { addSpan, momentOf, startOfDay } from '../../schedules/offset.ts'
import type { Work } from '../work.ts'

const PREGNANCY = '40 weeks'

const LMP_WEEKS = ['weeks_since_lmp', 'last_menstrual_period', 'lmp']
const LMP_DATES = ['lmp_date', 'date_lmp']
const BIRTH_DATES = ['date_of_birth', 'birth_date', 'dob']
const BIRTH_SPANS: readonly (readonly [unit: string, names: readonly string[]])[] = [
  ['days', ['days_since_dob', 'days_since_birth', 'age_in_days']],
  ['weeks', ['weeks_since_dob', 'weeks_since_birth', 'age_in_weeks']],
  ['months', ['months_since_dob', 'months_since_birth', 'age_in_months']],
  ['years', ['years_since_dob', 'years_since_birth', 'age_in_years']],
]

export function addExpectedDate(work: Work): boolean {
  const { fields } = work
  const today = startOfDay(work.reportedMs)
  const weeks = numberIn(fields, LMP_WEEKS)
  const lmpMs = weeks === undefined ? dateIn(fields, LMP_DATES) : addSpan(today, `-${weeks} weeks`)
  const expectedMs = lmpMs === undefined ? undefined : addSpan(lmpMs, PREGNANCY)
  if (lmpMs === undefined || expectedMs === undefined) return false
  work.set({ lmp_date: iso(lmpMs), expected_date: iso(expectedMs) })
  return true
}

export function addBirthDate(work: Work): boolean {
  const { fields } = work
  const today = startOfDay(work.reportedMs)
  let birthMs = dateIn(fields, BIRTH_DATES)
  for (const [unit, names] of BIRTH_SPANS) {
    const count = numberIn(fields, names)
    if (birthMs === undefined && count !== undefined) birthMs = addSpan(today, `-${count} ${unit}`)
  }
  if (birthMs === undefined) return false
  work.set({ birth_date: iso(birthMs) })
  return true
}

const iso = (ms: number): string => new Date(ms).toISOString()

function numberIn(fields: JsonObject, names: readonly string[]): number | undefined {
  for (const name of names) {
    const value = fields[name]
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
    if (typeof number === 'number' && Number.isFinite(number) && number >= 0 && number < 10_000) {
      return number
    }
  }
  return undefined
}

const dateIn = (fields: JsonObject, names: readonly string[]): number | undefined => {
  for (const name of names) {
    const ms = momentOf(fields[name])
    if (ms !== undefined) return ms
  }
  return undefined
}
