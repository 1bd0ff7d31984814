/**
 * What a document puts into a JSON index: the array of its field values, or nothing.
 *
 * A document is in the index only when all fields exist (null exists) and the partial filter, if
 * any, matches. Design documents are never in it. A key may be too large or a filter too slow for
 * the indexer: that is its concern.
 */
import { isFound, parseFieldPath, readField } from './field-path.ts'
import type { JsonIndex } from './index-definition.ts'
import { isJsonObject, type JsonValue, member } from './json-value.ts'
import { compileMatcher, type MatchSettings } from './match.ts'

export type KeyOf = (document: JsonValue) => readonly JsonValue[] | undefined

export function compileIndexKey(
  index: Pick<JsonIndex, 'fields' | 'partial'>,
  settings: MatchSettings,
): KeyOf {
  const paths = index.fields.map(field => parseFieldPath(field.name))
  const belongs = index.partial ? compileMatcher(index.partial, settings) : () => true
  return document => {
    if (isDesignDocument(document)) return undefined
    const key: JsonValue[] = []
    for (const path of paths) {
      const value = readField(document, path)
      if (!isFound(value)) return undefined
      key.push(value)
    }
    return belongs(document) ? key : undefined
  }
}

function isDesignDocument(document: JsonValue): boolean {
  const id = isJsonObject(document) ? member(document, '_id') : undefined
  return typeof id === 'string' && id.startsWith('_design/')
}
