/**
 * What a process tells scrapers about the requests it answered and about itself, and the sum over several processes. The
 * texts are prom-client's. Routes are told by their patterns and methods from a closed list, so that no client can make
 * up new series.
 */
import {
  AggregatorRegistry,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  type PrometheusContentType,
  Registry,
} from 'prom-client'
import type { AccessEntry } from './access-log.ts'

/** Of one process; it can be sent to another as JSON. */
export type ProcessMetrics = readonly MetricObjectWithValues<MetricValue<string>>[]

const LABELS = ['method', 'route', 'code'] as const
const SECONDS = [
  0.004, 0.007, 0.013, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 25, 45, 90, 180, 360, 600,
  1200, 1800, 3600,
]
const BYTES = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]
const METHODS = new Set(['COPY', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'])
const NO_ROUTE = 'N/A'

export class RequestMetrics {
  readonly #prefix: string
  readonly #registry = new Registry()
  readonly #connectionCounts: (() => Promise<number>)[] = []
  readonly #duration: Histogram<(typeof LABELS)[number]>
  readonly #requestSize: Histogram<(typeof LABELS)[number]>
  readonly #responseSize: Histogram<(typeof LABELS)[number]>

  /** @param prefix of the names */
  constructor(prefix: string) {
    this.#prefix = prefix
    this.#duration = this.#histogram('request_duration_seconds', 'Duration of requests', SECONDS)
    this.#requestSize = this.#histogram('request_size_bytes', 'Size of request bodies', BYTES)
    this.#responseSize = this.#histogram('response_size_bytes', 'Size of response bodies', BYTES)
  }

  /** Also tells about the process itself: memory, processor, event loop, garbage collection. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.#registry, prefix: this.#prefix })
  }

  /** @param count connections that are open; those of several servers add up */
  watchConnections(count: () => Promise<number>): void {
    const counts = this.#connectionCounts
    counts.push(count)
    if (counts.length > 1) return
    new Gauge({
      name: 'expressjs_number_of_open_connections',
      help: 'Open connections',
      registers: [this.#registry],
      async collect() {
        const all = await Promise.all(counts.map(each => each()))
        this.set(all.reduce((sum, each) => sum + each, 0))
      },
    })
  }

  count({ method, route, status, durationMs, requestBytes, responseBytes }: AccessEntry): void {
    const labels = {
      method: METHODS.has(method) ? method : 'other',
      route: route ?? NO_ROUTE,
      code: status,
    }
    this.#duration.observe(labels, durationMs / 1000)
    this.#requestSize.observe(labels, requestBytes)
    this.#responseSize.observe(labels, responseBytes)
  }

  snapshot(): Promise<ProcessMetrics> {
    return this.#registry.getMetricsAsJSON() as Promise<ProcessMetrics>
  }

  #histogram(what: string, help: string, buckets: number[]) {
    return new Histogram({
      name: `${this.#prefix}http_${what}`,
      help,
      labelNames: LABELS,
      buckets,
      registers: [this.#registry],
    })
  }
}

export interface VersionInfo {
  /** Of the gauge that is always 1. */
  readonly name: string
  readonly version: string
}

/** All processes as one, and what is the same in all of them. */
export function sumMetrics(
  processes: readonly ProcessMetrics[],
  { name, version }: VersionInfo,
): Registry<PrometheusContentType> {
  const sum = AggregatorRegistry.aggregate(processes.map(metrics => [...metrics]))
  const [, major = '', minor = '', patch = ''] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? []
  const gauge = new Gauge({
    name,
    help: 'The version that is deployed',
    labelNames: ['version', 'major', 'minor', 'patch'],
    registers: [sum],
  })
  gauge.set({ version, major, minor, patch }, 1)
  return sum as Registry<PrometheusContentType>
}
