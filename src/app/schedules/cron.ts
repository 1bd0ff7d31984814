/**
 * Times that come again, as people configure them: five fields of cron (minute, hour, day, month, day of the week), or a few
 * words in English (`at 9:00 am on Monday`, `every 2 hours`). Times are where the server is. Pure.
 */
const MINUTE_MS = 60_000
/** How far back a time is looked for: a week and a day. */
const SEARCH_MINUTES_MAX = 8 * 24 * 60

export interface Recurrence {
  readonly minutes: ReadonlySet<number>
  readonly hours: ReadonlySet<number>
  readonly days: ReadonlySet<number>
  readonly months: ReadonlySet<number>
  readonly weekdays: ReadonlySet<number>
  /** Where both are told, either will do: that is how cron has it. */
  readonly isEitherDay: boolean
}

const FIELDS = [
  { least: 0, most: 59, names: [] },
  { least: 0, most: 23, names: [] },
  { least: 1, most: 31, names: [] },
  { least: 1, most: 12, names: 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ') },
  { least: 0, most: 7, names: 'sun mon tue wed thu fri sat'.split(' ') },
] as const

/** Undefined for what is no cron. */
export function parseCron(text: string): Recurrence | undefined {
  const parts = text.trim().toLowerCase().split(/\s+/)
  if (parts.length !== 5) return undefined
  const sets = parts.map((part, index) =>
    parseField(part, FIELDS[index] as (typeof FIELDS)[number]),
  )
  if (sets.some(set => set === undefined)) return undefined
  const [minutes, hours, days, months, weekdays] = sets as Set<number>[]
  if (weekdays?.has(7)) weekdays.add(0)
  const isEitherDay = parts[2] !== '*' && parts[4] !== '*'
  return { minutes, hours, days, months, weekdays, isEitherDay } as Recurrence
}

function parseField(
  text: string,
  { least, most, names }: { least: number; most: number; names: readonly string[] },
): Set<number> | undefined {
  const numberOf = (word: string): number => {
    const at = names.indexOf(word.slice(0, 3))
    if (at >= 0 && /^[a-z]/.test(word)) return at + least
    return /^\d+$/.test(word) ? Number(word) : Number.NaN
  }
  const values = new Set<number>()
  for (const item of text.split(',')) {
    const [range = '', stepText] = item.split('/')
    const step = stepText === undefined ? 1 : Number(stepText)
    const [from = '', to] =
      range === '*' || range === '?' ? [String(least), String(most)] : range.split('-')
    const start = numberOf(from)
    const end = to === undefined ? (stepText === undefined ? start : most) : numberOf(to)
    const isRight =
      start >= least && end <= most && start <= end && Number.isInteger(step) && step > 0
    if (!isRight) return undefined
    for (let value = start; value <= end; value += step) values.add(value)
  }
  return values
}

const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

/** Undefined for words that it does not understand. */
export function parseWords(text: string): Recurrence | undefined {
  const words = text.trim().toLowerCase().replace(/,/g, ' ').replace(/\s+/g, ' ')
  const every = /^every (\d+)? ?(minute|min|hour)s?$/.exec(words)
  if (every !== null) {
    const count = every[1] ?? '1'
    return parseCron(every[2] === 'hour' ? `0 */${count} * * *` : `*/${count} * * * *`)
  }
  const at = /^(?:at )?(\d{1,2})(?::(\d{2}))? ?(am|pm)?(?: (.*))?$/.exec(words)
  if (at === null) return undefined
  const [, hourText, minute = '0', half, rest = ''] = at
  const given = Number(hourText)
  const hour = half === undefined ? given : (given % 12) + (half === 'pm' ? 12 : 0)
  const day = daysOf(rest)
  return day === undefined ? undefined : parseCron(`${Number(minute)} ${hour} ${day}`)
}

/** Day, month and day of the week as cron has them. */
function daysOf(text: string): string | undefined {
  if (text === '' || text === 'every day' || text === 'every 1 day') return '* * *'
  if (text === 'every weekday') return '* * 1-5'
  if (text === 'every weekend') return '* * 0,6'
  const month = /^on the (\d{1,2}|first)(?:st|nd|rd|th)? day of the month$/.exec(text)
  if (month !== null) return `${month[1] === 'first' ? 1 : month[1]} * *`
  const named = /^(?:on|every) (.+)$/.exec(text)?.[1]?.split(/ (?:and )?/) ?? []
  const numbers = named.map(word => WEEKDAYS.indexOf(word.replace(/s$/, '')))
  return numbers.length > 0 && numbers.every(number => number >= 0)
    ? `* * ${numbers.join(',')}`
    : undefined
}

/** As the settings have it: cron, or words. */
export const recurrenceOf = (cron: unknown, words: unknown): Recurrence | undefined => {
  if (typeof cron === 'string' && cron.trim() !== '') return parseCron(cron) ?? parseWords(cron)
  return typeof words === 'string' ? (parseWords(words) ?? parseCron(words)) : undefined
}

/** The last time after one moment and not after another; undefined where there is none. */
export function lastTime(
  recurrence: Recurrence,
  afterMs: number,
  untilMs: number,
): number | undefined {
  let at = Math.floor(untilMs / MINUTE_MS) * MINUTE_MS
  for (let left = SEARCH_MINUTES_MAX; left > 0 && at > afterMs; left--) {
    if (isTime(recurrence, new Date(at))) return at
    at -= MINUTE_MS
  }
  return undefined
}

/** Whether such a time lies between two moments. */
export function isCronTime(cron: string, afterMs: number, untilMs: number): boolean {
  const recurrence = recurrenceOf(cron, undefined)
  return recurrence !== undefined && lastTime(recurrence, afterMs, untilMs) !== undefined
}

function isTime(recurrence: Recurrence, date: Date): boolean {
  const { minutes, hours, days, months, weekdays, isEitherDay } = recurrence
  if (!minutes.has(date.getMinutes()) || !hours.has(date.getHours())) return false
  if (!months.has(date.getMonth() + 1)) return false
  const isDay = days.has(date.getDate())
  const isWeekday = weekdays.has(date.getDay())
  return isEitherDay ? isDay || isWeekday : isDay && isWeekday
}
