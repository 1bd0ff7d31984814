/**
 * Bookmarks: opaque tokens that name the last row of a page. The next page is the rows after it.
 *
 * A token holds the row itself (key and id), not its number, so it means the same after writes.
 * Format: base64url of `["r", id, key]` for rows of an index or ids, `["t", id, sort values]` for
 * rows of a text index.
 */
import { isJsonArray, type JsonValue } from './json-value.ts'
import { mangoFailure } from './mango-failure.ts'

export interface Bookmark {
  readonly kind: 'row' | 'text'
  readonly id: string
  /** The key of the row; for text the values it was sorted by (with the score first). */
  readonly key: JsonValue
}

/** What a page without rows shows. Accepted back as none. */
export const NO_BOOKMARK = 'nil'

export function encodeBookmark(bookmark: Bookmark): string {
  const parts = [bookmark.kind === 'row' ? 'r' : 't', bookmark.id, bookmark.key]
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

export function decodeBookmark(token: string): Bookmark | undefined {
  if (token === '' || token === NO_BOOKMARK) return undefined
  const parts = /^[A-Za-z0-9_-]+$/.test(token) ? parse(token) : undefined
  if (isJsonArray(parts) && parts.length === 3) {
    const [letter, id, key] = parts
    if ((letter === 'r' || letter === 't') && typeof id === 'string' && key !== undefined) {
      return { kind: letter === 'r' ? 'row' : 'text', id, key }
    }
  }
  throw invalidBookmark(token)
}

export const invalidBookmark = (token: JsonValue) =>
  mangoFailure(
    'invalid_bookmark',
    `Invalid bookmark value: ${JSON.stringify(token).slice(0, 1000)}`,
  )

function parse(token: string): JsonValue | undefined {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString()) as JsonValue
  } catch {
    return undefined
  }
}
