/**
 * Runs a piece of transaction to its end, for engines that answer at once.
 *
 * Promise 5 of the port lets an engine yield to wait for its store. Engines that never wait run the
 * whole generator inside one turn of the event loop; a yield that reaches this function is a bug of
 * ours.
 */
import { assert } from '../base/assert.ts'
import type { Steps } from './engine.ts'

export function finish<T>(steps: Steps<T>): T {
  const step = steps.next()
  assert(step.done === true, 'a transaction waited for something that is not its store')
  return step.value
}
