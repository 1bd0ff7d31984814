/**
 * A store of the memory engine that answers at once, as the embedded one does: for tests of what is only done then.
 */
import type { ReadTx, Steps, Store } from '../../src/engine/engine.ts'

export function nearStore(store: Store): Store {
  const read = <T>(work: (tx: ReadTx) => Steps<T>): T => {
    const ended: { value: T }[] = []
    const failed: { thrown: unknown }[] = []
    // The memory engine runs the work before it answers, if only with a promise.
    const later = store.read(function* (tx) {
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
  return {
    id: store.id,
    get: key =>
      read(function* (tx) {
        return yield* tx.get(key)
      }),
    read,
    write: work => store.write(work),
    scan: (range, options) => store.scan(range, options),
    size: () => store.size(),
    compact: progress => store.compact(progress),
  }
}
