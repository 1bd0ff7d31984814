/**
 * Ini text: sections of `key = value` lines, as operators of the products we follow write them.
 *
 * A comment starts with `;` at the beginning of a line or after a blank. Where a value itself holds
 * a blank followed by `;` it is written `\;`, so every value that can be set comes back the same.
 * `setIniValue` edits one line and leaves the operator's comments and order alone.
 */
import { getOrAdd } from './get-or-add.ts'

export type IniSections = Map<string, Map<string, string>>

export function parseIni(text: string): IniSections {
  const sections: IniSections = new Map()
  let section = ''
  for (const line of text.split(/\r?\n/)) {
    const parsed = parseLine(line)
    if (parsed.kind === 'section') section = parsed.name
    if (parsed.kind !== 'value') continue
    getOrAdd(sections, section, () => new Map<string, string>()).set(parsed.key, parsed.value)
  }
  return sections
}

/** The text with that one value set, or without it when `value` is undefined. */
export function setIniValue(
  text: string,
  at: { section: string; key: string },
  value: string | undefined,
): string {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n')
  const fresh = value === undefined ? [] : [`${at.key} = ${escapeValue(value)}`]
  let section = ''
  let sectionEnd = -1
  let found = -1
  lines.forEach((line, index) => {
    const parsed = parseLine(line)
    if (parsed.kind === 'section') section = parsed.name
    if (section !== at.section) return
    if (parsed.kind !== 'nothing') sectionEnd = index
    if (parsed.kind === 'value' && parsed.key === at.key) found = index
  })
  if (found >= 0) lines.splice(found, 1, ...fresh)
  else if (value !== undefined && sectionEnd >= 0) lines.splice(sectionEnd + 1, 0, ...fresh)
  else if (value !== undefined) {
    if (lines.length > 0) lines.push('')
    lines.push(`[${at.section}]`, ...fresh)
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

type Line =
  | { kind: 'section'; name: string }
  | { kind: 'value'; key: string; value: string }
  | { kind: 'nothing' }

function parseLine(line: string): Line {
  const trimmed = line.trim()
  if (trimmed === '' || trimmed.startsWith(';') || trimmed.startsWith('#'))
    return { kind: 'nothing' }
  const header = /^\[([^\]]*)\]/.exec(trimmed)
  if (header) return { kind: 'section', name: header[1]?.trim() ?? '' }
  const equals = trimmed.indexOf('=')
  if (equals <= 0) return { kind: 'nothing' }
  const key = trimmed.slice(0, equals).trim()
  return { kind: 'value', key, value: unescapeValue(trimmed.slice(equals + 1)) }
}

const escapeValue = (value: string): string => value.replace(/(^|\s);/g, '$1\\;')

function unescapeValue(text: string): string {
  const comment = text.search(/\s;/)
  return (comment < 0 ? text : text.slice(0, comment)).trim().replace(/(^|\s)\\;/g, '$1;')
}
