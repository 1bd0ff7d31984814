/**
 * What a process tells scrapers about the requests it answered and about itself, and the sum over several processes. The
 * texts are prom-client's. Routes are told by their patterns and methods from a closed list, so that no client can make
 * up new series.
 */
import {
  AggregatorRegistry,
  collectDefaultMetrics,
  Gauge,
  type MetricObjectWithValues,
  type MetricValue,
  type PrometheusContentType,
  Registry,
} from 'prom-client'
import type { AccessEntry } from './access-log.ts'
import { RequestHistograms } from './request-histograms.ts'

/** Of one process; it can be sent to another as JSON. */
export type ProcessMetrics = readonly MetricObjectWithValues<MetricValue<string>>[]

export class RequestMetrics {
  readonly #prefix: string
  readonly #registry = new Registry()
  readonly #connectionCounts: (() => Promise<number>)[] = []
  readonly #requests: RequestHistograms

  /** @param prefix of the names */
  constructor(prefix: string) {
    this.#prefix = prefix
    this.#requests = new RequestHistograms(prefix)
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

  count(entry: AccessEntry): void {
    this.#requests.count(entry)
  }

  async snapshot(): Promise<ProcessMetrics> {
    const own = (await this.#registry.getMetricsAsJSON()) as ProcessMetrics
    return [...own, ...this.#requests.metrics()]
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
