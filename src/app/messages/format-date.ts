/**
 * Points in time as people read them, by patterns as the settings have them (`DD-MMM-YYYY HH:mm:ss`). Names of months and
 * days are those of the language. Letters in square brackets stand for themselves, and so does whatever is no token.
 */
const TOKEN =
  /\[([^\]]*)\]|YYYY|YY|MMMM|MMM|MM|M|DDDD|DD|Do|D|dddd|ddd|HH|H|hh|h|mm|m|ss|s|SSS|A|a|ZZ|Z|X|x/g

export interface DateFormat {
  readonly pattern: string
  readonly locale?: string | undefined
  /** East of Greenwich; where the server is if nobody says. */
  readonly offsetMinutes?: number | undefined
}

export function formatDate(
  ms: number,
  { pattern, locale = 'en', offsetMinutes }: DateFormat,
): string {
  if (Number.isNaN(new Date(ms).getTime())) return ''
  const offset = offsetMinutes ?? -new Date(ms).getTimezoneOffset()
  // The clock on the wall there, read as if it were UTC.
  const wall = new Date(ms + offset * 60_000)
  if (Number.isNaN(wall.getTime())) return ''
  return pattern.replace(TOKEN, (token, escaped: string | undefined) =>
    escaped === undefined ? part(token, { wall, offset, locale, ms }) : escaped,
  )
}

interface Moment {
  readonly wall: Date
  readonly offset: number
  readonly locale: string
  readonly ms: number
}

function part(token: string, moment: Moment): string {
  const { wall, offset, locale, ms } = moment
  const day = wall.getUTCDate()
  const month = wall.getUTCMonth() + 1
  const hour = wall.getUTCHours()
  const year = String(wall.getUTCFullYear()).padStart(4, '0')
  const values: Readonly<Record<string, () => string>> = {
    YYYY: () => year,
    YY: () => year.slice(-2),
    MMMM: () => named(wall, locale, { month: 'long' }),
    MMM: () => named(wall, locale, { month: 'short' }),
    MM: () => two(month),
    M: () => String(month),
    DDDD: () => String(dayOfYear(wall)).padStart(3, '0'),
    DD: () => two(day),
    Do: () => `${day}${ordinalEnd(day)}`,
    D: () => String(day),
    dddd: () => named(wall, locale, { weekday: 'long' }),
    ddd: () => named(wall, locale, { weekday: 'short' }),
    HH: () => two(hour),
    H: () => String(hour),
    hh: () => two(hour % 12 || 12),
    h: () => String(hour % 12 || 12),
    mm: () => two(wall.getUTCMinutes()),
    m: () => String(wall.getUTCMinutes()),
    ss: () => two(wall.getUTCSeconds()),
    s: () => String(wall.getUTCSeconds()),
    SSS: () => String(wall.getUTCMilliseconds()).padStart(3, '0'),
    A: () => (hour < 12 ? 'AM' : 'PM'),
    a: () => (hour < 12 ? 'am' : 'pm'),
    Z: () => zone(offset, ':'),
    ZZ: () => zone(offset, ''),
    X: () => String(Math.floor(ms / 1000)),
    x: () => String(ms),
  }
  return values[token]?.() ?? token
}

const two = (number: number): string => String(number).padStart(2, '0')

function named(wall: Date, locale: string, options: Intl.DateTimeFormatOptions): string {
  try {
    return wall.toLocaleDateString(locale, { ...options, timeZone: 'UTC' })
  } catch {
    // A locale that nobody knows.
    return wall.toLocaleDateString('en', { ...options, timeZone: 'UTC' })
  }
}

const dayOfYear = (wall: Date): number =>
  Math.floor((wall.getTime() - Date.UTC(wall.getUTCFullYear(), 0, 1)) / 86_400_000) + 1

function ordinalEnd(day: number): string {
  if (day >= 11 && day <= 13) return 'th'
  return ['th', 'st', 'nd', 'rd'][day % 10] ?? 'th'
}

function zone(offset: number, colon: string): string {
  const minutes = Math.abs(offset)
  return `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}${colon}${two(minutes % 60)}`
}
