/** What the operating system says about this process, and the sum over several. */
import type { SystemFigures } from '../core/operations/operations.ts'

export function systemFigures(): SystemFigures {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  const usage = process.resourceUsage()
  return {
    uptimeS: process.uptime(),
    memory: { rss, heapTotal, heapUsed, external },
    contextSwitches: usage.voluntaryContextSwitches + usage.involuntaryContextSwitches,
    bytesRead: usage.fsRead * BLOCK_BYTES,
    bytesWritten: usage.fsWrite * BLOCK_BYTES,
    processCount: 1,
  }
}

/** getrusage(2) counts blocks of this size. */
const BLOCK_BYTES = 512

export function addSystemFigures(all: readonly SystemFigures[]): SystemFigures {
  const sum = (pick: (each: SystemFigures) => number): number =>
    all.reduce((total, each) => total + pick(each), 0)
  return {
    uptimeS: Math.max(0, ...all.map(each => each.uptimeS)),
    memory: {
      rss: sum(each => each.memory.rss),
      heapTotal: sum(each => each.memory.heapTotal),
      heapUsed: sum(each => each.memory.heapUsed),
      external: sum(each => each.memory.external),
    },
    contextSwitches: sum(each => each.contextSwitches),
    bytesRead: sum(each => each.bytesRead),
    bytesWritten: sum(each => each.bytesWritten),
    processCount: sum(each => each.processCount),
  }
}
