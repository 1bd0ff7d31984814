/**
 * Groups of keys: by the whole key, or by the first elements of keys that are arrays. Keys belong
 * together when their sort keys do, so texts that ICU holds for equal (`"a"` and `"a\u0000"`) are
 * one group, named by its first row.
 */
import { assert } from '../../base/assert.ts'
import { afterKey, type KeyOrder } from '../indexing/row-order.ts'
import type { GroupBounds } from '../indexing/scan-groups.ts'

export function groupingBy(
  order: KeyOrder,
  level: number | 'exact',
): (keyText: Buffer) => GroupBounds {
  assert(level !== 0, 'no grouping is a reduction of the range')
  return keyText => {
    const cut = level === 'exact' ? undefined : firstElements(keyText, level)
    if (cut === undefined) return bounds(keyText, order.sortKey(keyText))
    // All arrays that begin with these elements: the sort key of the short array without its end.
    const sortKey = order.sortKey(cut)
    return bounds(cut, sortKey.subarray(0, sortKey.length - 1))
  }
}

const bounds = (keyText: Buffer, lower: Buffer): GroupBounds => ({
  keyText,
  lower,
  upper: afterKey(lower),
})

/**
 * The text of the array of the first `count` elements; undefined when the key is no array or has
 * fewer.
 */
export function firstElements(text: Buffer, count: number): Buffer | undefined {
  if (text[0] !== OPEN_BRACKET) return undefined
  let depth = 0
  let seen = 0
  for (let at = 0; at < text.length; at++) {
    const code = text[at]
    if (code === QUOTE) at = closingQuote(text, at)
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) depth++
    else if (code === COMMA && depth === 1) seen++
    else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--
    if (depth === 1 && code === COMMA && seen === count) return closed(text, at)
    if (depth === 0) return text.length > 2 && seen + 1 === count ? text : undefined
  }
  assert(false, 'a key is unfinished JSON')
}

function closingQuote(text: Buffer, open: number): number {
  let at = open + 1
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1
  return at
}

function closed(text: Buffer, end: number): Buffer {
  const cut = Buffer.from(text.subarray(0, end + 1))
  cut[end] = CLOSE_BRACKET
  return cut
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
