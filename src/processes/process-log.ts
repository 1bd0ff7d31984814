/** The log of a process. Its level follows the configuration; where lines go is settled at the start. */
import { Failure } from '../base/errors.ts'
import { Log, type LogFields } from '../base/log.ts'
import { openFileSink, openStderrSink } from '../base/log-sink.ts'
import type { Configuration } from '../core/configuration/configuration.ts'
import { SETTINGS } from '../core/configuration/settings.ts'

export function logOf(configuration: Configuration, fields: LogFields): Log {
  const log = new Log({
    level: configuration.get(SETTINGS.logLevel),
    format: configuration.get(SETTINGS.logFormat),
    sink: openSink(configuration.get(SETTINGS.logFile)),
    fields,
  })
  configuration.onChange(() => log.setLevel(configuration.get(SETTINGS.logLevel)))
  return log
}

function openSink(path: string) {
  if (path === '') return openStderrSink()
  try {
    return openFileSink(path)
  } catch (thrown) {
    throw new Failure('config_invalid', { reason: `[log] file = ${path} cannot be opened` }, thrown)
  }
}
