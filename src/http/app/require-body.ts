/** Bodies that must say something. */
import { Failure } from '../../base/errors.ts'

/** Fails for an empty object, which is also what no body at all reads as. */
export function requireBody(given: unknown): unknown {
  if (typeof given === 'object' && given !== null && Object.keys(given).length > 0) return given
  const reason = 'Request body is empty or Content-Type header was not set to application/json.'
  throw new Failure('request_invalid', { reason })
}
