/**
 * Counters and distributions that any part may count with, and that add up across processes.
 *
 * Counting is a map look-up and an addition. A distribution keeps its values in buckets a tenth apart, so that merged
 * percentiles of many processes are within a few percent; count, sum, least and greatest are exact.
 */
import { getOrAdd } from './get-or-add.ts'

export interface MetricsSnapshot {
  readonly counters: Readonly<Record<string, number>>
  readonly distributions: Readonly<Record<string, DistributionSnapshot>>
}

export interface DistributionSnapshot {
  readonly count: number
  readonly sum: number
  readonly min: number
  readonly max: number
  /** [bucket, number of values] */
  readonly buckets: readonly (readonly [number, number])[]
}

export class Metrics {
  readonly #counters = new Map<string, number>()
  readonly #distributions = new Map<string, Distribution>()

  add(name: string, amount = 1): void {
    this.#counters.set(name, (this.#counters.get(name) ?? 0) + amount)
  }

  record(name: string, value: number): void {
    getOrAdd(this.#distributions, name, () => new Distribution()).record(value)
  }

  snapshot(): MetricsSnapshot {
    const distributions = [...this.#distributions].map(([name, each]) => [name, each.snapshot()])
    return {
      counters: Object.fromEntries(this.#counters),
      distributions: Object.fromEntries(distributions),
    }
  }
}

const GROWTH = 1.1
const LOG_GROWTH = Math.log(GROWTH)
/** Values below this fall into one bucket. */
const SMALLEST = 0.001

class Distribution {
  readonly #buckets = new Map<number, number>()
  #count = 0
  #sum = 0
  #min = Number.POSITIVE_INFINITY
  #max = Number.NEGATIVE_INFINITY

  record(value: number): void {
    this.#count++
    this.#sum += value
    if (value < this.#min) this.#min = value
    if (value > this.#max) this.#max = value
    const bucket = Math.round(Math.log(Math.max(value, SMALLEST)) / LOG_GROWTH)
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + 1)
  }

  snapshot(): DistributionSnapshot {
    const buckets = [...this.#buckets]
    return { count: this.#count, sum: this.#sum, min: this.#min, max: this.#max, buckets }
  }
}

export function mergeSnapshots(snapshots: readonly MetricsSnapshot[]): MetricsSnapshot {
  const counters = new Map<string, number>()
  const distributions = new Map<string, DistributionSnapshot>()
  for (const snapshot of snapshots) {
    for (const [name, value] of Object.entries(snapshot.counters)) {
      counters.set(name, (counters.get(name) ?? 0) + value)
    }
    for (const [name, value] of Object.entries(snapshot.distributions)) {
      const known = distributions.get(name)
      distributions.set(name, known === undefined ? value : mergeDistributions(known, value))
    }
  }
  return {
    counters: Object.fromEntries(counters),
    distributions: Object.fromEntries(distributions),
  }
}

function mergeDistributions(
  a: DistributionSnapshot,
  b: DistributionSnapshot,
): DistributionSnapshot {
  const buckets = new Map(a.buckets)
  for (const [bucket, count] of b.buckets) buckets.set(bucket, (buckets.get(bucket) ?? 0) + count)
  return {
    count: a.count + b.count,
    sum: a.sum + b.sum,
    min: Math.min(a.min, b.min),
    max: Math.max(a.max, b.max),
    buckets: [...buckets],
  }
}

/** @param share 0.5 for the median */
export function percentile(distribution: DistributionSnapshot, share: number): number {
  const ordered = distribution.buckets.toSorted((a, b) => a[0] - b[0])
  let left = Math.ceil(distribution.count * share)
  for (const [bucket, count] of ordered) {
    left -= count
    if (left <= 0) return clamp(GROWTH ** bucket, distribution)
  }
  return distribution.count === 0 ? 0 : distribution.max
}

const clamp = (value: number, { min, max }: DistributionSnapshot): number =>
  Math.min(max, Math.max(min, value))
