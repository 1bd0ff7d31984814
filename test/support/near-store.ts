/**
 * A store of the memory engine that answers at once, as the embedded one does: for tests of what is only done then.
 */
import type { Key, ReadTx, Steps } from '../../src/engine/engine.ts'
import { WrappedStore } from '../../src/engine/wrapped-engine.ts'

export class NearStore extends WrappedStore {
  override get(key: Key): Buffer | undefined {
    return this.read(function* (tx) {
      return yield* tx.get(key)
    })
  }

  override read<T>(work: (tx: ReadTx) => Steps<T>): T {
    const ended: { value: T }[] = []
    const failed: { thrown: unknown }[] = []
    // The memory engine runs the work before it answers, if only with a promise.
    const later = super.read(function* (tx) {
      try {
        ended.push({ value: yield* work(tx) })
      } catch (thrown) {
        failed.push({ thrown })
      }
    })
    if (later instanceof Promise) later.catch(thrown => failed.push({ thrown }))
    const [end] = ended
    if (end !== undefined) return end.value
    throw failed[0]?.thrown ?? new Error('the store did not answer at once')
  }
}
