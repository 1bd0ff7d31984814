/** Refusals about users that pages show to people: with a key under which the text has its translations. */
import { Failure, isFailure } from '../../base/errors.ts'
import { isObject, type JsonObject } from '../documents/document.ts'

export function refusal(
  message: string,
  translationKey: string,
  translationParams?: JsonObject,
): Failure {
  const keyed = { message, translationKey }
  const reason = translationParams === undefined ? keyed : { ...keyed, translationParams }
  return new Failure('request_invalid', { reason })
}

/** What went wrong as one text; undefined for what is not the sender's mistake. */
export function refusalText(thrown: unknown): string | undefined {
  if (!isFailure(thrown) || thrown.code === 'unexpected') return undefined
  const { reason } = thrown.detail
  if (typeof reason === 'string') return reason
  return isObject(reason) && typeof reason.message === 'string' ? reason.message : thrown.message
}

const MISSING_FIELDS = 'fields.required'

export const missingFields = (fields: readonly string[]): Failure => {
  const list = fields.join(', ')
  return refusal(`Missing required fields: ${list}`, MISSING_FIELDS, { fields: list })
}

export const isMissingFields = (thrown: unknown): boolean =>
  isFailure(thrown, 'request_invalid') &&
  isObject(thrown.detail.reason) &&
  thrown.detail.reason.translationKey === MISSING_FIELDS
