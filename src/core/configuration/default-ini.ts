/** The text of `etc/default.ini`: every setting with its default, as a comment unless clients expect to read it. */
import { getOrAdd } from '../../base/get-or-add.ts'
import type { Setting } from './setting-kinds.ts'
import { SETTINGS, type SettingName } from './settings.ts'

/** Values that clients read from the configuration endpoint even when nobody set them. */
const SHOWN: ReadonlySet<SettingName> = new Set(['port', 'bindAddress', 'nodePort'])

/** Made at the first start and kept in local.ini. */
const MADE: ReadonlySet<SettingName> = new Set(['serverUuid', 'authSecret'])

export function defaultIni(): string {
  const sections = new Map<string, string[]>()
  for (const [name, setting] of Object.entries(SETTINGS) as [SettingName, Setting<unknown>][]) {
    if (MADE.has(name)) continue
    const lines = getOrAdd(sections, setting.section, () => [])
    lines.push(`; ${setting.about}`)
    lines.push(`${SHOWN.has(name) ? '' : ';'}${setting.key} = ${setting.defaultText}`.trimEnd())
  }
  const body = [...sections].map(([name, lines]) => `[${name}]\n${lines.join('\n')}\n`)
  return `${HEADER}\n${body.join('\n')}`
}

const HEADER = `; Every setting with its default. Do not edit: put your own values into local.ini in the data
; folder, or set them with PUT /_node/_local/_config/{section}/{key}. Lines that begin with a semicolon are comments.
`
