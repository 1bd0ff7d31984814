/** Runs the suite of the sandbox port on each runtime that this machine has. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { findDeno } from '../../../src/core/sandbox/sandbox-runtime.ts'
import { openFixture } from './sandbox-fixture.ts'
import { SANDBOX_SUITE } from './suite.ts'

for (const runtime of ['deno', 'node'] as const) {
  const isMissing = runtime === 'deno' && findDeno() === undefined
  const skip = isMissing ? 'Deno has no build for this platform' : false
  describe(`sandbox on ${runtime}`, { skip }, () => {
    const fixture = openFixture({ runtime })
    after(() => fixture.sandbox.close())
    for (const [name, run] of SANDBOX_SUITE) it(name, () => run(fixture))
    it('warns where the runtime does not close the network', () => {
      const expected = runtime === 'node' ? 1 : 0
      assert.equal(fixture.warnings.filter(text => text.includes('network')).length, expected)
    })
  })
}
