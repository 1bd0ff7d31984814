/** Every promise of the sandbox port, as named checks that run on one open sandbox each runtime. */
import { designChecks } from './design-checks.ts'
import { listChecks } from './list-checks.ts'
import { responseChecks } from './response-checks.ts'
import type { Fixture } from './sandbox-fixture.ts'
import { viewChecks } from './view-checks.ts'

export type Check = readonly [name: string, run: (fixture: Fixture) => Promise<void>]

export const SANDBOX_SUITE: readonly Check[] = [
  ...viewChecks,
  ...designChecks,
  ...responseChecks,
  ...listChecks,
]
