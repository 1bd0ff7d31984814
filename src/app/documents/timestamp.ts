/**
 * Points in time as clients write them: ISO 8601 with a time zone, or milliseconds since 1970. Stored documents have
 * milliseconds only.
 */
const ISO = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{3})?(Z|[+-]\d\d(?::?\d\d)?)$/

/** Milliseconds, or undefined when the value is no point in time. Numbers may come as text. */
export function parseTimestamp(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined
  if (typeof value !== 'string') return undefined
  if (/^-?\d{1,16}$/.test(value)) return parseTimestamp(Number(value))
  const parts = ISO.exec(value)
  if (parts === null) return undefined
  const [, year, month, day, hour, minute, second, fraction = ''] = parts
  // A day that its month does not have would silently become one of the next month.
  const local = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${fraction}Z`)
  if (Number.isNaN(local) || new Date(local).getUTCDate() !== Number(day)) return undefined
  return local - offsetMs(parts[8] as string)
}

/** The stricter form: a number, or a text that ends with a literal `Z`. */
export const parseUtcTimestamp = (value: unknown): number | undefined =>
  typeof value === 'number' || (typeof value === 'string' && value.endsWith('Z'))
    ? parseTimestamp(value)
    : undefined

function offsetMs(zone: string): number {
  if (zone === 'Z') return 0
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0')
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000
}
