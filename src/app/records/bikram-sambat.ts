/**
 * Dates of Nepal's calendar. How long its months are follows from no rule: they are published, so they are a table here,
 * for the years 1970 to 2090 (1913 to 2034 of the other calendar). Pure.
 */

/** A group per year, a digit per month: days beyond 29. */
const MONTHS = `
  223222101011 223231101011 232321110012 132321110102 223222101011 223312101011 232321110012
  132321110102 223222101011 223321101011 232321110012 222322011011 223222101011 223321101011
  232321110012 222322011011 223222101011 232321101011 232321110012 222322101011 223222101011
  232321101011 232321110102 222322101011 223222101011 232321110011 232321110102 223222101011
  223222101011 232321110012 132321110102 223222101011 223321101011 232321110012 132321110102
  223222101011 223321101011 232321110012 222322011002 223222101011 223321101011 232321110012
  222322011011 223222101011 223321101011 232321110012 222322011011 223222101011 232321101011
  232321110102 222322101011 223222101011 232321110011 232321110102 222322101011 223222101011
  232321110012 132321110102 223222101011 223231101011 232321110012 132321110102 223222101011
  223321101011 232321110012 132322011002 223222101011 223321101011 232321110012 222322011011
  223222101011 223321101011 232321110012 222322011011 223222101011 232321101011 232321110012
  222322101011 223222101011 232321110011 232321110102 222322101011 223222101011 232321110011
  232321110102 223222101011 223231101011 232321110012 132321110102 223222101011 223321101011
  232321110012 132322010102 223222101011 223321101011 232321110012 222322011002 223222101011
  223321101011 232321110012 222322011011 223222101011 232321101011 232321110012 222322101011
  223222101011 232321110011 232321110102 222322101011 223222101011 232321110011 232321110111
  132321110111 223221110111 223221110111 232312110111 132321110111 223222110111 123312110111
  132321110111 132321110111
`
  .trim()
  .split(/\s+/)

const YEAR_FIRST = 1970
/** The first day of that year. */
const START = { year: 1913, month: 4, day: 13 }

export interface CalendarDay {
  readonly year: number
  readonly month: number
  readonly day: number
}

/** Undefined for days that the calendar does not have, or years that the table does not have. */
export function toGregorian({ year, month, day }: CalendarDay): CalendarDay | undefined {
  const length = daysIn(year, month)
  if (length === undefined || !Number.isInteger(day) || day < 1 || day > length) return undefined
  let days = day - 1
  for (let before = YEAR_FIRST; before < year; before++) days += daysBefore(before, 13)
  days += daysBefore(year, month)
  const date = new Date(Date.UTC(START.year, START.month - 1, START.day + days))
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

/** The other way; undefined for days before or after the table. */
export function fromGregorian({ year, month, day }: CalendarDay): CalendarDay | undefined {
  const start = Date.UTC(START.year, START.month - 1, START.day)
  let days = Math.round((Date.UTC(year, month - 1, day) - start) / 86_400_000)
  if (days < 0) return undefined
  for (let itsYear = YEAR_FIRST; ; itsYear++) {
    for (let itsMonth = 1; itsMonth <= 12; itsMonth++) {
      const length = daysIn(itsYear, itsMonth)
      if (length === undefined) return undefined
      if (days < length) return { year: itsYear, month: itsMonth, day: days + 1 }
      days -= length
    }
  }
}

function daysIn(year: number, month: number): number | undefined {
  const digit = MONTHS[year - YEAR_FIRST]?.[month - 1]
  return digit === undefined ? undefined : 29 + Number(digit)
}

function daysBefore(year: number, month: number): number {
  let days = 0
  for (let before = 1; before < month; before++) days += daysIn(year, before) ?? 0
  return days
}
