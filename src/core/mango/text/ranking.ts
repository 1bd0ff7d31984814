/**
 * The order of ranked answers of a text index: by score, the highest first, or by the fields of the sort; documents that
 * are equal in that by id. A bookmark is the place of a document in this order.
 */
import type { Collator } from '../../../base/collate/collator.ts'
import { type Bookmark, invalidBookmark } from '../bookmark.ts'
import { isFound, parseFieldPath, readField } from '../field-path.ts'
import { isJsonArray, type JsonValue } from '../json-value.ts'
import type { SortField } from '../sort.ts'
import { idKey } from './doc-stream.ts'

/** A document that may match. */
export interface Hit {
  readonly id: string
  readonly score: number
  /** Of each `$text` of the selector, whether it is true. */
  readonly truths: readonly boolean[]
}

/** What a row is ranked by: smaller comes first, an absent value last. */
export interface Rank {
  readonly id: string
  readonly idKey: string
  readonly truths: readonly boolean[]
  readonly values: readonly JsonValue[]
  readonly keys: readonly (Buffer | number | undefined)[]
}

export class Ranking {
  readonly #fields: readonly { path: readonly string[]; type: string | undefined; sign: number }[]
  readonly #collator: Collator

  constructor(sort: readonly SortField[], collator: Collator) {
    this.#fields = sort.map(({ name, direction }) => {
      const [, plain = name, type] = /^(.*):(string|number)$/s.exec(name) ?? []
      return { path: parseFieldPath(plain), type, sign: direction === 'desc' ? -1 : 1 }
    })
    this.#collator = collator
  }

  of({ id, score, truths }: Hit, document: JsonValue): Rank {
    const values =
      this.#fields.length === 0 ? [score] : this.#fields.map(field => sortValue(document, field))
    return this.#rank(id, values, truths)
  }

  /** Values stand in lists of one, so that an absent one can be told from null. */
  #rank(id: string, values: readonly JsonValue[], truths: readonly boolean[]): Rank {
    const keys =
      this.#fields.length === 0
        ? [values[0] as number]
        : values.map(value => {
            const [only] = value as readonly JsonValue[]
            return only === undefined ? undefined : this.#collator.sortKeyOfValue(only)
          })
    return { id, idKey: idKey(id), truths, values, keys }
  }

  ofBookmark({ id, key }: Bookmark, text: string): Rank {
    const isOurs = isJsonArray(key) && key.length === Math.max(1, this.#fields.length)
    const isScore = this.#fields.length === 0
    const isRight =
      isOurs && key.every(value => (isScore ? typeof value === 'number' : isJsonArray(value)))
    if (!isRight) throw invalidBookmark(text)
    return this.#rank(id, key, [])
  }

  compare(a: Rank, b: Rank): number {
    for (const [at, one] of a.keys.entries()) {
      const order = compareKeys(one, b.keys[at])
      if (order.value !== 0) {
        return order.isAbsence || this.#fields.length === 0
          ? order.value
          : order.value * (this.#fields[at]?.sign ?? 1)
      }
    }
    return a.idKey < b.idKey ? -1 : a.idKey > b.idKey ? 1 : 0
  }
}

function compareKeys(
  one: Buffer | number | undefined,
  two: Buffer | number | undefined,
): { value: number; isAbsence: boolean } {
  if (one === undefined || two === undefined) {
    return { value: Number(one === undefined) - Number(two === undefined), isAbsence: true }
  }
  // The highest score first.
  if (typeof one === 'number' || typeof two === 'number') {
    return { value: Number(two) - Number(one), isAbsence: false }
  }
  return { value: Buffer.compare(one, two), isAbsence: false }
}

/** In a list, which is empty when there is none of the type. Of an array the first element counts. */
function sortValue(
  document: JsonValue,
  { path, type }: { path: readonly string[]; type: string | undefined },
): JsonValue {
  const found = readField(document, path)
  const value = isFound(found) && isJsonArray(found) ? found[0] : found
  if (value === undefined || typeof value === 'symbol') return []
  return type === undefined || typeof value === type ? [value] : []
}
