/** What every reader of JSON here fails with. `at` is the offset of the byte that does not fit. */
import { Failure } from '../errors.ts'

export const invalidJson = (at: number): Failure =>
  new Failure('json_invalid', { reason: 'invalid UTF-8 JSON', at })

/**
 * Characters of a number. Integers are exact at any size, but reading one costs more than its
 * length says, and nothing else bounds it.
 */
export const NUMBER_LENGTH_MAX = 1_000_000
