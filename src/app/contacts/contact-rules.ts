/** What people and places must look like when they come in through `people` and `places`. Pure; texts as clients know them. */
import { isObject, type JsonObject } from '../documents/document.ts'
import { invalid } from '../documents/refusal.ts'
import { parseTimestamp } from '../documents/timestamp.ts'
import { type ContactTypes, typeIdOf } from './contact-types.ts'

/** Missing means falsy: an empty text is no name. */
const isMissing = (value: unknown): boolean => !value

export function checkPerson(types: ContactTypes, given: unknown): JsonObject {
  if (!isObject(given)) throw invalid('Person must be an object.')
  if (!types.isPerson(given)) throw invalid('Wrong type, this is not a person.')
  if (isMissing(given.name)) throw invalid('Person is missing a "name" property.')
  if (typeof given.name !== 'string') throw invalid('Property "name" must be a string.')
  const date = given.reported_date
  if (!isMissing(date) && parseTimestamp(date) === undefined) {
    throw invalid(`Reported date is invalid: ${date}`)
  }
  return given
}

/** The place itself, then each place above it that is there. */
export function checkPlace(types: ContactTypes, given: unknown): JsonObject {
  const place = checkPlaceAlone(types, given)
  const allowed = types.find(typeIdOf(place))?.parents ?? []
  if (allowed.length === 0) return place
  const id = idText(place)
  if (isMissing(place.parent)) throw invalid(`Place ${id} is missing a "parent" property.`)
  const parent = checkPlace(types, place.parent)
  const type = typeIdOf(place)
  if (!allowed.includes(typeIdOf(parent) as string)) {
    throw invalid(
      `${type} "${id}" should have one of the following parent types: "${allowed.join(',')}".`,
    )
  }
  return place
}

function checkPlaceAlone(types: ContactTypes, given: unknown): JsonObject {
  if (!isObject(given)) throw invalid('Place must be an object.')
  const id = idText(given)
  if (!types.isPlace(given)) throw invalid(`Wrong type, object ${id} is not a place.`)
  if (isMissing(given.name)) throw invalid(`Place ${id} is missing a "name" property.`)
  const date = given.reported_date
  if (!isMissing(date) && parseTimestamp(date) === undefined) {
    throw invalid(`Reported date on place ${id} is invalid: ${date}`)
  }
  if (typeof given.name !== 'string') {
    throw invalid(`Property "name" on place ${id} must be a string.`)
  }
  const { contact } = given
  if (!isMissing(contact) && typeof contact !== 'string' && !isObject(contact)) {
    throw invalid(`Property "contact" on place ${id} must be an object or string.`)
  }
  return given
}

const idText = ({ _id: id }: JsonObject): string => (typeof id === 'string' ? id : '')

/** With its date as milliseconds; now where none was given. */
export const withReportedDate = (document: JsonObject, nowMs: number): JsonObject => ({
  ...document,
  reported_date: parseTimestamp(document.reported_date || undefined) ?? nowMs,
})
