/**
 * Makes the failures of declarative queries: one code, and the error word and reason that clients
 * of CouchDB know.
 */
import { Failure, type FailureDetail } from '../../base/errors.ts'

export const mangoFailure = (error: string, reason: string, facts: FailureDetail = {}): Failure =>
  new Failure('mango_invalid', { ...facts, error, reason })

export const indexFailure = (error: string, reason: string, facts: FailureDetail = {}): Failure =>
  new Failure('index_invalid', { ...facts, error, reason })
