/** Spans of time as people write them (`3 weeks`, `1 day`), and days of a calendar. Where the server is counts. */
const SPAN = /^\s*(-?\d+(?:\.\d+)?)\s*(second|minute|hour|day|week|month|year)s?\s*$/i
const UNIT_MS: Readonly<Record<string, number>> = { second: 1000, minute: 60_000, hour: 3_600_000 }
const UNIT_DAYS: Readonly<Record<string, number>> = { day: 1, week: 7 }

/** The moment so much later (or earlier); undefined for what is no span. */
export function addSpan(fromMs: number, span: unknown): number | undefined {
  const parts = typeof span === 'string' ? SPAN.exec(span) : null
  if (parts === null) return undefined
  const count = Number(parts[1])
  const unit = (parts[2] as string).toLowerCase()
  const unitMs = UNIT_MS[unit]
  if (unitMs !== undefined) return fromMs + count * unitMs
  const date = new Date(fromMs)
  const days = UNIT_DAYS[unit]
  // By the calendar: a day in which clocks are moved is a day all the same.
  if (days !== undefined) date.setDate(date.getDate() + Math.round(count * days))
  else addMonths(date, Math.round(count * (unit === 'year' ? 12 : 1)))
  return date.getTime()
}

/** The same day of another month, or its last. */
function addMonths(date: Date, months: number): void {
  const day = date.getDate()
  date.setDate(1)
  date.setMonth(date.getMonth() + months)
  const last = new Date(date.getFullYear(), date.getMonth() + 1, 0).getDate()
  date.setDate(Math.min(day, last))
}

export function startOfDay(ms: number): number {
  return new Date(ms).setHours(0, 0, 0, 0)
}

/** Milliseconds of a number, an ISO text or a day (which begins where the server is). */
export function momentOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'string' || value.trim() === '') return undefined
  const text = value.trim()
  if (/^-?\d{9,16}$/.test(text)) return Number(text)
  const day = /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(text)
  const ms = day
    ? new Date(Number(day[1]), Number(day[2]) - 1, Number(day[3])).getTime()
    : Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}
