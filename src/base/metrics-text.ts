/** Counters and distributions in the text form that scrapers read. */
import { type MetricsSnapshot, percentile } from './metrics.ts'

const SHARES = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999]

/**
 * Names that end in a number of their own kind become one series with a label, as scrapers want them: so status codes,
 * methods and engine operations.
 */
const LABELLED: readonly (readonly [prefix: string, name: string, label: string])[] = [
  ['couchdb.httpd_status_codes.', 'couchdb_httpd_status_codes', 'code'],
  ['couchdb.httpd_request_methods.', 'couchdb_httpd_request_methods', 'method'],
  ['couchdb.engine.operations.', 'couchdb_engine_operations', 'operation'],
  ['couchdb.engine.failures.', 'couchdb_engine_failures', 'operation'],
  ['couchdb.engine.milliseconds.', 'couchdb_engine_milliseconds', 'operation'],
]

export function metricsText({ counters, distributions }: MetricsSnapshot): string {
  const lines: string[] = []
  const told = new Set<string>()
  for (const [name, value] of Object.entries(counters).sort()) {
    const { metric, labels } = seriesOf(name)
    if (!told.has(metric)) lines.push(`# TYPE ${metric}_total counter`)
    told.add(metric)
    lines.push(`${metric}_total${labels} ${value}`)
  }
  for (const [name, value] of Object.entries(distributions).sort()) {
    const metric = metricName(name)
    lines.push(`# TYPE ${metric} summary`)
    for (const share of SHARES) {
      lines.push(`${metric}{quantile="${share}"} ${percentile(value, share)}`)
    }
    lines.push(`${metric}_sum ${value.sum}`, `${metric}_count ${value.count}`)
  }
  return `${lines.join('\n')}\n`
}

function seriesOf(name: string): { readonly metric: string; readonly labels: string } {
  const found = LABELLED.find(([prefix]) => name.startsWith(prefix))
  if (found === undefined) return { metric: metricName(name), labels: '' }
  const [prefix, metric, label] = found
  return { metric, labels: `{${label}="${name.slice(prefix.length)}"}` }
}

const metricName = (name: string): string =>
  `couchdb_${name.replace(/^couchdb\./, '').replace(/[^a-zA-Z0-9]+/g, '_')}`
