/** Figures of this node: `_stats`, `_system`, `_versions`, `_prometheus`. */
import { type DistributionSnapshot, type MetricsSnapshot, percentile } from '../../base/metrics.ts'
import { metricsText } from '../../base/metrics-text.ts'
import type { SystemFigures } from '../../core/operations/operations.ts'
import type { Reply } from '../kit/reply.ts'
import type { Exchange } from './exchange.ts'
import { requireThisNode } from './node.ts'

export async function getStats(exchange: Exchange): Promise<Reply> {
  await requireThisNode(exchange)
  const tree = statsTree(await exchange.server.metrics())
  let found: unknown = tree
  for (const name of exchange.params.rest) {
    const isBranch = typeof found === 'object' && found !== null && Object.hasOwn(found, name)
    found = isBranch ? (found as Record<string, unknown>)[name] : null
  }
  return exchange.value(200, found)
}

const PERCENTILES = [50, 75, 90, 95, 99, 999] as const

function statsTree(snapshot: MetricsSnapshot): Record<string, unknown> {
  const tree: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(snapshot.counters).sort()) {
    place(tree, name, { value, type: 'counter', desc: describe(name) })
  }
  for (const [name, value] of Object.entries(snapshot.distributions).sort()) {
    place(tree, name, {
      value: presentDistribution(value),
      type: 'histogram',
      desc: describe(name),
    })
  }
  return tree
}

const describe = (name: string): string => name.replaceAll('_', ' ').replaceAll('.', ', ')

function place(tree: Record<string, unknown>, name: string, value: unknown): void {
  const path = name.split('.')
  let branch = tree
  for (const part of path.slice(0, -1)) {
    branch[part] ??= {}
    branch = branch[part] as Record<string, unknown>
  }
  branch[path.at(-1) as string] = value
}

function presentDistribution(distribution: DistributionSnapshot) {
  const { count, sum, min, max } = distribution
  return {
    min,
    max,
    arithmetic_mean: count === 0 ? 0 : sum / count,
    n: count,
    percentile: PERCENTILES.map(each => [
      each,
      percentile(distribution, each === 999 ? 0.999 : each / 100),
    ]),
    histogram: distribution.buckets
      .toSorted((a, b) => a[0] - b[0])
      .map(([bucket, number]) => [1.1 ** bucket, number]),
  }
}

/**
 * The members are those of an Erlang machine; what has no counterpart here (atoms, schedulers' queues) is 0. Heap is told
 * as process memory, buffers outside of it as binaries.
 */
export async function getSystem(exchange: Exchange): Promise<Reply> {
  await requireThisNode(exchange)
  const system = await exchange.server.systemFigures()
  const { heapTotal, heapUsed, external, rss } = system.memory
  return exchange.value(200, {
    uptime: Math.floor(system.uptimeS),
    memory: {
      other: Math.max(0, rss - heapTotal - external),
      atom: 0,
      atom_used: 0,
      processes: heapTotal,
      processes_used: heapUsed,
      binary: external,
      code: 0,
      ets: 0,
    },
    run_queue: 0,
    run_queue_dirty_cpu: 0,
    ets_table_count: 0,
    context_switches: system.contextSwitches,
    reductions: 0,
    garbage_collection_count: 0,
    words_reclaimed: 0,
    io_input: system.bytesRead,
    io_output: system.bytesWritten,
    os_proc_count: system.processCount,
    stale_proc_count: 0,
    process_count: system.processCount,
    process_limit: system.processCount,
    message_queues: {},
    internal_replication_jobs: 0,
    distribution: {},
    distribution_events: {},
  })
}

export async function getVersions(exchange: Exchange): Promise<Reply> {
  await requireThisNode(exchange)
  return exchange.value(200, {
    javascript_engine: { name: 'v8', version: process.versions.v8 },
    node: { version: process.versions.node },
    collation_driver: {
      name: 'libicu',
      library_version: process.versions.icu ?? '',
      collator_version: process.versions.icu ?? '',
      collation_algorithm_version: process.versions.unicode ?? '',
    },
  })
}

export async function getPrometheus(exchange: Exchange): Promise<Reply> {
  await requireThisNode(exchange)
  const headers = ['Content-Type', 'text/plain; version=2.0']
  const { server } = exchange
  const [counted, system] = await Promise.all([server.metrics(), server.systemFigures()])
  return { status: 200, headers, body: `${metricsText(counted)}${systemText(system)}` }
}

/** The same figures as `_system` has. */
function systemText({ uptimeS, memory, processCount }: SystemFigures): string {
  const gauge = (name: string, lines: readonly string[]): string[] => [
    `# TYPE couchdb_${name} gauge`,
    ...lines.map(line => `couchdb_${name}${line}`),
  ]
  return [
    ...gauge('uptime_seconds', [` ${Math.floor(uptimeS)}`]),
    ...gauge('processes', [` ${processCount}`]),
    ...gauge(
      'memory_bytes',
      Object.entries(memory).map(([kind, bytes]) => `{memory_type="${kind}"} ${bytes}`),
    ),
    '',
  ].join('\n')
}
