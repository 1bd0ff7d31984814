/** The two ways in which the application says no to input; the text is what the client reads. */
import { Failure } from '../../base/errors.ts'

/** The input breaks a rule. */
export const invalid = (reason: string): Failure => new Failure('request_invalid', { reason })

/** There is no such thing, or it is of another kind. */
export const notFound = (reason: string): Failure => new Failure('document_missing', { reason })
