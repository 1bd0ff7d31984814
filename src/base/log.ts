/**
 * The log: levels as CouchDB has them, one line an event, secrets blacked out.
 *
 * Promises: a call below the level costs one comparison; a line never holds a line feed; values under
 * names like authorization, cookie or password, passwords in query strings and in URLs are replaced.
 * Leaves to others: where lines go and when (log-sink.ts), which events exist.
 */
import { Failure } from './errors.ts'

export const LOG_LEVELS = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const

export type LogLevel = (typeof LOG_LEVELS)[number]
export type LogFields = Readonly<Record<string, unknown>>

export interface LogSink {
  /** @param line without a line feed at its end */
  write(line: string): void
}

export interface LogOptions {
  readonly level: LogLevel | 'none'
  readonly format: 'json' | 'text'
  readonly sink: LogSink
  /** Milliseconds since 1970. */
  readonly clock?: () => number
  /** Told with every line: which process, which node. */
  readonly fields?: LogFields
}

export class Log {
  readonly #options: LogOptions
  #threshold: number

  constructor(options: LogOptions) {
    this.#options = options
    this.#threshold = thresholdOf(options.level)
  }

  /** From now on only lines of this level and above; logs made with `with` keep theirs. */
  setLevel(level: LogLevel | 'none'): void {
    this.#threshold = thresholdOf(level)
  }

  /** For callers whose fields cost something to gather. */
  enabled(level: LogLevel): boolean {
    return LOG_LEVELS.indexOf(level) >= this.#threshold
  }

  write(level: LogLevel, message: string, fields?: LogFields): void {
    if (!this.enabled(level)) return
    const { sink, format, clock = Date.now, fields: always } = this.#options
    const time = new Date(clock()).toISOString()
    const all = always === undefined ? fields : { ...always, ...fields }
    const print = format === 'json' ? jsonLine : textLine
    sink.write(print(time, level, redactText(message), all ?? {}))
  }

  debug(message: string, fields?: LogFields): void {
    this.write('debug', message, fields)
  }

  info(message: string, fields?: LogFields): void {
    this.write('info', message, fields)
  }

  notice(message: string, fields?: LogFields): void {
    this.write('notice', message, fields)
  }

  warning(message: string, fields?: LogFields): void {
    this.write('warning', message, fields)
  }

  error(message: string, fields?: LogFields): void {
    this.write('error', message, fields)
  }

  /** The same log that tells further fields with every line. */
  with(fields: LogFields): Log {
    return new Log({ ...this.#options, fields: { ...this.#options.fields, ...fields } })
  }
}

const thresholdOf = (level: LogLevel | 'none'): number =>
  level === 'none' ? LOG_LEVELS.length : LOG_LEVELS.indexOf(level)

/** A log for those who want none. */
export const silentLog = new Log({ level: 'none', format: 'text', sink: { write() {} } })

const LEVEL_ALIASES: Readonly<Record<string, LogLevel>> = {
  warn: 'warning',
  err: 'error',
  crit: 'critical',
  emerg: 'emergency',
}

/** The level of a configuration text; CouchDB's short forms count. */
export function parseLogLevel(text: string): LogLevel | 'none' {
  if (text === 'none') return 'none'
  const level = LEVEL_ALIASES[text] ?? LOG_LEVELS.find(known => known === text)
  if (level !== undefined) return level
  throw new Failure('config_invalid', { reason: `Unknown log level: ${text}`, subject: text })
}

const jsonLine = (time: string, level: LogLevel, message: string, fields: LogFields): string =>
  print({ time, level, message, ...fields })

function textLine(time: string, level: LogLevel, message: string, fields: LogFields): string {
  const { requestId = '-', ...others } = fields
  const facts = Object.entries(others).map(([name, value]) => ` ${name}=${plain(name, value)}`)
  return `[${level}] ${time} ${String(requestId)} ${oneLine(message)}${facts.join('')}`
}

function plain(name: string, value: unknown): string {
  if (SECRET_NAME.test(name)) return REDACTED
  return typeof value === 'string' && !/[\s"=]/.test(value) ? redactText(value) : print(value)
}

const oneLine = (text: string): string =>
  text.replace(/[\x00-\x1f\x7f]/g, char => JSON.stringify(char).slice(1, -1))

function print(value: unknown): string {
  try {
    return JSON.stringify(value, replace) ?? 'null'
  } catch {
    return '"[cannot be printed]"' // a cycle: a log line must never fail its caller
  }
}

const REDACTED = '[redacted]'
const SECRET_NAME =
  /^(proxy-)?authorization$|cookie$|password|^secret$|token$|^derived_key$|^(passphrase|salt)$/i

function replace(name: string, value: unknown): unknown {
  if (name !== '' && SECRET_NAME.test(name)) return REDACTED
  if (typeof value === 'string') return redactText(value)
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Error) return errorFields(value)
  return value
}

/** An error's own enumerable members (code, detail) and what JSON would leave out. */
function errorFields(error: Error): LogFields {
  const { name, message, stack, cause } = error
  const own: LogFields = { ...error }
  return { ...own, name, message, stack, ...(cause === undefined ? {} : { cause }) }
}

/** Blacks out passwords in query strings and in the user part of URLs. */
export function redactText(text: string): string {
  if (!text.includes('=') && !text.includes('://')) return text
  return text
    .replace(/([?&;](?:[\w-]*password|token|secret)=)[^&\s"#]*/gi, `$1${REDACTED}`)
    .replace(/(\w:\/\/[^\s/:@"]*):[^\s/@"]*@/g, `$1:${REDACTED}@`)
}
