/**
 * The Accept header: which content types a client takes.
 *
 * Promises: an absent header and wildcards accept everything (CouchDB's reading), `q=0` refuses, broken
 * items are skipped. The more specific item decides for a type. Leaves to others: what to do about it.
 */
export interface AcceptedType {
  /** Lower case, without parameters: `text/html`, `text/*`, or both wild. */
  readonly type: string
  readonly quality: number
}

/** A header of more items than this is cut: nobody needs them, and parsing is on every request. */
const ITEM_COUNT_MAX = 64

export function parseAccept(header: string | undefined): readonly AcceptedType[] {
  if (header === undefined) return []
  const items: AcceptedType[] = []
  for (const item of header.split(',', ITEM_COUNT_MAX)) {
    const [name = '', ...parameters] = item.split(';')
    const type = name.trim().toLowerCase()
    if (!type.includes('/')) continue
    const given = parameters.map(text => text.trim()).find(text => /^q\s*=/i.test(text))
    const quality = given === undefined ? 1 : Number(given.slice(given.indexOf('=') + 1))
    items.push({ type, quality: Number.isNaN(quality) ? 1 : quality })
  }
  return items
}

/** Would the client take this type? */
export function accepts(accepted: readonly AcceptedType[], type: string): boolean {
  if (accepted.length === 0) return true
  const family = `${type.slice(0, type.indexOf('/'))}/*`
  for (const pattern of [type, family, '*/*']) {
    const item = accepted.find(candidate => candidate.type === pattern)
    if (item !== undefined) return item.quality > 0
  }
  return false
}

/** Does the header name this very type, not only by a wildcard? */
export const namesType = (accepted: readonly AcceptedType[], type: string): boolean =>
  accepted.some(item => item.type === type && item.quality > 0)
