/** What the operating system says about this process, and the sum over several. */
import type { MetricsSnapshot } from '../base/metrics.ts'
import type { SystemFigures } from '../core/operations/operations.ts'
import type { EngineFigures } from '../engine/metered-engine.ts'

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

/** What was asked of the engine, among the other counters. */
export function withEngineFigures(
  { counters, distributions }: MetricsSnapshot,
  figures: EngineFigures,
): MetricsSnapshot {
  const all: Record<string, number> = { ...counters }
  for (const [operation, { count, failedCount, totalMs }] of Object.entries(figures)) {
    all[`couchdb.engine.operations.${operation}`] = count
    all[`couchdb.engine.failures.${operation}`] = failedCount
    all[`couchdb.engine.milliseconds.${operation}`] = Math.round(totalMs)
  }
  return { counters: all, distributions }
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
