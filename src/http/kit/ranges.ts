/**
 * The Range header of attachment reads. Pure.
 *
 * Promises: CouchDB's choices: `bytes=0-`, malformed headers and ten or more ranges mean the whole content;
 * ends past the content are clipped; a reversed range or a start past the end is unsatisfiable, even
 * among good ones. Leaves to others: whether ranges apply at all (only to content stored as it is sent).
 */
import { Failure } from '../../base/errors.ts'

/** Both ends included. */
export interface ByteRange {
  readonly first: number
  readonly last: number
}

const RANGE_COUNT_MAX = 9

/** One to nine ranges, or undefined for the whole; Failure('range_unsatisfiable'). */
export function parseRanges(
  header: string | undefined,
  lengthBytes: number,
): readonly ByteRange[] | undefined {
  const list = /^\s*bytes\s*=(.*)$/i.exec(header ?? '')?.[1]
  if (list === undefined) return undefined
  const items = list.split(',', RANGE_COUNT_MAX + 1).map(item => ITEM.exec(item.trim()))
  if (items.length > RANGE_COUNT_MAX) return undefined
  const bounds: (readonly [string, string])[] = []
  for (const item of items) {
    const [, first = '', last = ''] = item ?? []
    if (first === '' && last === '') return undefined
    bounds.push([first, last])
  }
  if (bounds.some(([first, last]) => last === '' && Number(first) === 0)) return undefined
  return bounds.map(([first, last]) => resolve(first, last, lengthBytes))
}

const ITEM = /^(\d*)\s*-\s*(\d*)$/

function resolve(first: string, last: string, lengthBytes: number): ByteRange {
  const range =
    first === ''
      ? { first: Math.max(0, lengthBytes - Number(last)), last: lengthBytes - 1 }
      : { first: Number(first), last: endOf(last, lengthBytes) }
  if (range.first > range.last || range.first >= lengthBytes) {
    throw new Failure('range_unsatisfiable', {
      reason: 'Requested range not satisfiable',
      lengthBytes,
    })
  }
  return range
}

const endOf = (last: string, lengthBytes: number): number =>
  last === '' ? lengthBytes - 1 : Math.min(Number(last), lengthBytes - 1)

/** `bytes 2-5/200` */
export const contentRange = (range: ByteRange, lengthBytes: number): string =>
  `bytes ${range.first}-${range.last}/${lengthBytes}`
