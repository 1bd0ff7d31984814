/** Fields of documents that come in through `person`, `place` and `report`: the strict way. Pure. */
import { isObject, isText, type JsonObject } from '../documents/document.ts'
import { invalid } from '../documents/refusal.ts'
import { parseUtcTimestamp } from '../documents/timestamp.ts'

export function requireObject(given: unknown): JsonObject {
  if (isObject(given)) return given
  throw invalid('Not a valid JSON object value.')
}

export function requireTexts(document: JsonObject, names: readonly string[]): void {
  for (const name of names) {
    if (!isText(document[name])) throw invalid(`The [${name}] field must have a [string] value.`)
  }
}

export function checkOptionalTexts(document: JsonObject, names: readonly string[]): void {
  for (const name of names) {
    const value = document[name]
    if (value !== undefined && value !== null && typeof value !== 'string') {
      throw invalid(`The [${name}] field must have the type [string].`)
    }
  }
}

/** What is new has no identity yet. */
export function refuseIdentity(document: JsonObject): void {
  for (const name of ['_id', '_rev']) {
    const value = document[name]
    if (value !== undefined && value !== null) {
      throw invalid(`The [${name}] field must not be set.`)
    }
  }
}

/** Milliseconds; now where none is given. */
export function reportedDateOf({ reported_date: given }: JsonObject, nowMs: number): number {
  if (given === undefined || given === null) return nowMs
  const parsed = parseUtcTimestamp(given)
  if (parsed !== undefined) return parsed
  throw invalid(
    "Invalid reported_date. Expected format to be 'YYYY-MM-DDTHH:mm:ssZ', 'YYYY-MM-DDTHH:mm:ss.SSSZ', or a Unix epoch.",
  )
}

export function checkDate(document: JsonObject, name: string): void {
  const value = document[name]
  if (value === undefined || value === null) return
  const isDate =
    (typeof value === 'string' || typeof value === 'number') &&
    !Number.isNaN(new Date(value).getTime())
  if (!isDate) throw invalid(`The [${name}] field must have a [date] value.`)
}

/** Names of the members that may stay as they are only. */
export function refuseChanges(names: readonly string[], isSame: (name: string) => boolean): void {
  const changed = names.filter(name => !isSame(name))
  if (changed.length > 0) throw invalid(`The [${changed.join(', ')}] fields must not be changed.`)
}
