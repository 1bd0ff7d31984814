/**
 * How quick is the machine right now? A fixed piece of work (arithmetic and memory in no order) on all cores at once for
 * a third of a second. Virtual machines differ by a factor of two and more from one minute to the next, so benchmarks
 * print this beside what they measure: figures compare only where the pace does.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'

const PROGRAM = `
  const { parentPort } = require('node:worker_threads')
  const memory = new Uint32Array(1 << 22).fill(1)
  function work() {
    let x = 12345
    let steps = 0
    const started = performance.now()
    while (performance.now() - started < 300) {
      for (let i = 0; i < 20000; i++) {
        x = (Math.imul(x, 1103515245) + 12345) >>> 0
        memory[x >>> 10] += x
      }
      steps += 20000
    }
    return steps / (performance.now() - started) / 1000
  }
  parentPort.postMessage(work())`

/** Million steps a second, all cores together. */
export async function machinePace(): Promise<number> {
  const paces = Array.from(
    { length: availableParallelism() },
    () =>
      new Promise<number>((resolve, reject) => {
        const worker = new Worker(PROGRAM, { eval: true })
        worker.once('message', resolve)
        worker.once('error', reject)
      }),
  )
  return (await Promise.all(paces)).reduce((sum, pace) => sum + pace, 0)
}
