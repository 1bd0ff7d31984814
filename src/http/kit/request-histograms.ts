/**
 * How long requests took and how large they were, by method, route and status: three histograms, counted in arrays. A
 * request costs one look-up and six additions; only when somebody asks are they put into the form of prom-client, whose own
 * counting of the same took a tenth of a small GET. Series are bounded by the routes and methods there are.
 */
import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import { getOrAdd } from '../../base/get-or-add.ts'
import type { AccessEntry } from './access-log.ts'

type Metric = MetricObjectWithValues<MetricValue<string>>

interface Shape {
  readonly name: string
  readonly help: string
  /** Upper bounds, ascending. */
  readonly bounds: readonly number[]
  readonly measure: (entry: AccessEntry) => number
}

const SECONDS = [
  0.004, 0.007, 0.013, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 25, 45, 90, 180, 360, 600,
  1200, 1800, 3600,
]
const BYTES = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]

const SHAPES: readonly Shape[] = [
  {
    name: 'http_request_duration_seconds',
    help: 'Duration of requests',
    bounds: SECONDS,
    measure: ({ durationMs }) => durationMs / 1000,
  },
  {
    name: 'http_request_size_bytes',
    help: 'Size of request bodies',
    bounds: BYTES,
    measure: ({ requestBytes }) => requestBytes,
  },
  {
    name: 'http_response_size_bytes',
    help: 'Size of response bodies',
    bounds: BYTES,
    measure: ({ responseBytes }) => responseBytes,
  },
]

const METHODS = new Set(['COPY', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'])
const NO_ROUTE = 'N/A'

interface Series {
  readonly labels: { readonly method: string; readonly route: string; readonly code: number }
  /** For each shape: how many in each bucket, the last one for what is beyond all bounds. */
  readonly counts: readonly Float64Array[]
  readonly sums: Float64Array
}

export class RequestHistograms {
  readonly #prefix: string
  /** By route, then by method and status. */
  readonly #series = new Map<string, Map<string, Map<number, Series>>>()

  /** @param prefix of the names */
  constructor(prefix: string) {
    this.#prefix = prefix
  }

  count(entry: AccessEntry): void {
    const series = this.#seriesOf(entry)
    for (let at = 0; at < SHAPES.length; at++) {
      const { bounds, measure } = SHAPES[at] as Shape
      const value = measure(entry)
      let bucket = 0
      while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++
      const counts = series.counts[at] as Float64Array
      counts[bucket] = (counts[bucket] as number) + 1
      series.sums[at] = (series.sums[at] as number) + value
    }
  }

  /** As prom-client says them. */
  metrics(): Metric[] {
    const all = [...this.#series.values()].flatMap(methods =>
      [...methods.values()].flatMap(codes => [...codes.values()]),
    )
    return SHAPES.map((shape, at) => {
      const name = this.#prefix + shape.name
      const values = all.flatMap(series => valuesOf(name, shape, series, at))
      return { name, help: shape.help, type: 'histogram', values, aggregator: 'sum' } as never
    })
  }

  #seriesOf({ method, route = NO_ROUTE, status }: AccessEntry): Series {
    const methods = getOrAdd(this.#series, route, () => new Map<string, Map<number, Series>>())
    const name = METHODS.has(method) ? method : 'other'
    const codes = getOrAdd(methods, name, () => new Map<number, Series>())
    return getOrAdd(codes, status, () => ({
      labels: { method: name, route, code: status },
      counts: SHAPES.map(({ bounds }) => new Float64Array(bounds.length + 1)),
      sums: new Float64Array(SHAPES.length),
    }))
  }
}

function valuesOf(name: string, { bounds }: Shape, series: Series, at: number): object[] {
  const { labels } = series
  const values: object[] = []
  let count = 0
  for (const [bucket, own] of (series.counts[at] as Float64Array).entries()) {
    count += own
    const le = bounds[bucket] ?? '+Inf'
    values.push({ labels: { le, ...labels }, value: count, metricName: `${name}_bucket` })
  }
  values.push({ labels, value: series.sums[at], metricName: `${name}_sum` })
  values.push({ labels, value: count, metricName: `${name}_count` })
  return values
}
