/** Points in time in exports: milliseconds, or ISO 8601 for people. */
import type { Cell } from './csv.ts'
import type { ExportOptions } from './export-request.ts'

/** An empty text where there is none; what is no point in time is shown as it is. */
export function dateCell(value: unknown, { isHumanReadable }: ExportOptions): Cell {
  if (value === undefined || value === null || value === '') return ''
  const ms = typeof value === 'number' ? value : Date.parse(String(value))
  // Beyond this no calendar goes.
  if (!(Math.abs(ms) <= 8.64e15)) return value as Cell
  return isHumanReadable ? new Date(ms).toISOString() : ms
}
