/**
 * The order of view keys for parsed values, made from the collator of the server.
 *
 * The collator makes sort keys of JSON text, which is right for indexes. A matcher compares one
 * value after another with the same argument, mostly numbers and short texts: here types and
 * numbers decide without it, and the key of the right-hand text is kept from call to call.
 */
import type { Collator } from '../../base/collate/collator.ts'
import { type Compare, isJsonArray, isJsonObject, type JsonValue } from './json-value.ts'

export function viewCompare(collator: Pick<Collator, 'sortKey'>): Compare {
  let keptText: string | undefined
  let keptKey: Uint8Array = Buffer.alloc(0)
  const compareTexts = (a: string, b: string): number => {
    if (a === b) return 0
    if (b !== keptText) {
      keptKey = collator.sortKey(JSON.stringify(b))
      keptText = b
    }
    return Buffer.compare(collator.sortKey(JSON.stringify(a)), keptKey)
  }
  const compare: Compare = (a, b) => {
    if (typeof a === 'number' && typeof b === 'number') return a - b
    if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b)
    const difference = rankOf(a) - rankOf(b)
    if (difference !== 0) return difference
    if (isJsonArray(a) && isJsonArray(b)) return compareLists(a, b, compare)
    if (!isJsonObject(a) || !isJsonObject(b)) return 0
    return compareLists(Object.entries(a).flat(), Object.entries(b).flat(), compare)
  }
  return compare
}

function compareLists(a: readonly JsonValue[], b: readonly JsonValue[], compare: Compare): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const order = compare(a[at] as JsonValue, b[at] as JsonValue)
    if (order !== 0) return order
  }
  return a.length - b.length
}

function rankOf(value: JsonValue): number {
  if (value === null) return 0
  if (value === false) return 1
  if (value === true) return 2
  if (typeof value === 'number') return 3
  if (typeof value === 'string') return 4
  return isJsonArray(value) ? 5 : 6
}
