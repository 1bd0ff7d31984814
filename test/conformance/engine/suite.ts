/**
 * The promises of src/engine/engine.ts, one named check each, to be run against any engine:
 * run.test.ts does it for all of ours.
 */
import type { EnginePromise } from './engine-under-test.ts'
import { scanning } from './scans.ts'
import { stores } from './stores.ts'
import { basics } from './values-and-ranges.ts'
import { writing } from './writes.ts'

export const enginePromises: readonly EnginePromise[] = [
  ...basics,
  ...writing,
  ...scanning,
  ...stores,
]
