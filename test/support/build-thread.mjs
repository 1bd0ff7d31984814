/** The program of a thread of a first build, from its sources: what runs the tests knows TypeScript, a thread does not. */
import { register } from 'tsx/esm/api'

register()
await import('../../src/core/indexing/first-build/build-thread.ts')
