/**
 * Counts requests the way operators of CouchDB know it from `_stats`: by method, by status, by what was asked. Names come
 * from closed lists: what clients invent must not fill memory.
 */
import { getOrAdd } from '../../base/get-or-add.ts'
import type { Metrics } from '../../base/metrics.ts'
import type { AccessEntry } from '../kit/access-log.ts'

export function countRequest(metrics: Metrics, entry: AccessEntry): void {
  const { method, status, route, durationMs } = entry
  metrics.add('couchdb.httpd.requests')
  metrics.add(METHODS.get(method) ?? 'couchdb.httpd_request_methods.other')
  metrics.add(getOrAdd(STATUSES, status, () => `couchdb.httpd_status_codes.${status}`))
  metrics.record('couchdb.request_time', durationMs)
  const asked = route === undefined ? undefined : ROUTES.get(route)?.[method]
  if (asked !== undefined && status < 400) metrics.add(asked)
  if (entry.outcome === 'cut') metrics.add('couchdb.httpd.aborted_requests')
}

const STATUSES = new Map<number, string>()

const METHODS = new Map(
  ['COPY', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'].map(method => [
    method,
    `couchdb.httpd_request_methods.${method}`,
  ]),
)

const READ = 'couchdb.database_reads'
const WRITE = 'couchdb.database_writes'
const DOCUMENT = { GET: READ, HEAD: READ, PUT: WRITE, DELETE: WRITE, COPY: WRITE, POST: WRITE }
const LISTED = { GET: 'couchdb.httpd.all_docs_requests', POST: 'couchdb.httpd.all_docs_requests' }
const VIEWED = { GET: 'couchdb.httpd.view_reads', POST: 'couchdb.httpd.view_reads' }
const CHANGES = {
  GET: 'couchdb.httpd.changes_requests',
  POST: 'couchdb.httpd.changes_requests',
}

/** What was asked, by route and method; only what was answered counts. */
const ROUTES = new Map<string, Readonly<Record<string, string>>>([
  ['/{db}', { POST: WRITE }],
  ['/{db}/{id}', DOCUMENT],
  ['/{db}/_design/{id}', DOCUMENT],
  ['/{db}/{id}/{name...}', { GET: READ, PUT: WRITE, DELETE: WRITE }],
  ['/{db}/_local/{id}', { PUT: 'couchdb.local_document_writes' }],
  ['/{db}/_bulk_docs', { POST: 'couchdb.httpd.bulk_requests' }],
  ['/{db}/_bulk_get', { POST: 'couchdb.httpd.bulk_get_requests' }],
  ['/{db}/_all_docs', LISTED],
  ['/{db}/_changes', CHANGES],
  ['/{db}/_find', { POST: 'couchdb.httpd.find_requests' }],
  ['/{db}/_purge', { POST: 'couchdb.httpd.purge_requests' }],
  ['/{db}/_design/{ddoc}/_view/{view}', VIEWED],
  ['/{db}/_design/{ddoc}/_view/{view}/queries', VIEWED],
])
