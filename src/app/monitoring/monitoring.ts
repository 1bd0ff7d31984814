/**
 * How the installation does, for those who watch it every few seconds: everything is read from reductions, heads and
 * sizes that are kept anyway. Requests that come while one is being answered share its answer.
 */
import { getOrAdd } from '../../base/get-or-add.ts'
import { applicationDatabase } from '../../base/product-names.ts'
import type { ServerOperations } from '../../core/operations/operations.ts'
import { API_LEVEL } from '../../version.ts'
import type { Document } from '../documents/document.ts'
import { DocumentDatabase } from '../documents/document-database.ts'
import { deployInfoOf } from '../upgrades/deploy-info.ts'
import { processorBacklog, pushBacklog } from './backlogs.ts'
import { countRows } from './count-rows.ts'
import { readDatabaseFigures, watchedDatabases } from './database-figures.ts'
import { readOutgoing, readTotals } from './message-figures.ts'
import { FAILED_TEXT, MetricReader, type OnMetricFailure } from './metric.ts'

export interface MonitoringParts {
  readonly server: ServerOperations
  readonly data: DocumentDatabase
  readonly logs: DocumentDatabase
  readonly clock: () => number
  /** When the server was started. */
  readonly startedMs: number
  readonly onFailure: OnMetricFailure
}

export type MonitoringForm = 'v1' | 'v2'

const DAY_MS = 24 * 60 * 60 * 1000
export const CONNECTED_DAYS_DEFAULT = 7

export class Monitoring {
  readonly #parts: MonitoringParts
  readonly #running = new Map<string, Promise<object>>()

  constructor(parts: MonitoringParts) {
    this.#parts = parts
  }

  /** @param connectedDays how long ago a user may have been there last to count as connected */
  read(form: MonitoringForm, connectedDays: number = CONNECTED_DAYS_DEFAULT): Promise<object> {
    const key = `${form} ${connectedDays}`
    return getOrAdd(this.#running, key, () =>
      readAll(this.#parts, form, connectedDays).finally(() => this.#running.delete(key)),
    )
  }
}

async function readAll(
  parts: MonitoringParts,
  form: MonitoringForm,
  connectedDays: number,
): Promise<object> {
  const { server, data, clock, startedMs } = parts
  const nowMs = clock()
  const metrics = new MetricReader(parts.onFailure)
  const [version, databases, outgoing, counts] = await Promise.all([
    readVersion(data, metrics),
    readDatabases(server, metrics),
    form === 'v1'
      ? readTotals(data, metrics).then(state => ({ state }))
      : readOutgoing(data, metrics, nowMs),
    readCounts(parts, metrics, nowMs - connectedDays * DAY_MS),
  ])
  return {
    version: { app: version, node: process.version, svc: API_LEVEL, couchdb: API_LEVEL },
    svc: databases.ours,
    // The same again for dashboards that were made for the product.
    couchdb: databases.aliased,
    date: { current: nowMs, uptime: (nowMs - startedMs) / 1000 },
    messaging: { outgoing },
    ...counts,
  }
}

const readVersion = (data: DocumentDatabase, metrics: MetricReader): Promise<string> =>
  metrics.read('version', FAILED_TEXT, async () => {
    const design: Document | undefined = await data.get(`_design/${data.name}`)
    if (design === undefined) throw new Error('there is no main design document')
    return deployInfoOf(design).version
  })

async function readDatabases(server: ServerOperations, metrics: MetricReader) {
  const watched = watchedDatabases(server)
  const figures = await Promise.all(watched.map(each => readDatabaseFigures(server, each, metrics)))
  const keyedBy = (key: 'name' | 'alias') =>
    Object.fromEntries(watched.map((each, index) => [each[key], figures[index]]))
  return { ours: keyedBy('name'), aliased: keyedBy('alias') }
}

async function readCounts(
  { server, data, logs }: MonitoringParts,
  metrics: MetricReader,
  connectedSinceMs: number,
) {
  const sentinel = new DocumentDatabase(server, applicationDatabase('sentinel'))
  const usersMeta = new DocumentDatabase(server, applicationDatabase('users-meta'))
  const conflicts = { design: `${data.name}-conflicts`, view: 'conflicts' }
  const feedback = { design: 'users-meta', view: 'feedback_by_date' }
  const limit = { design: 'logs', view: 'replication_limit' }
  const connected = { design: 'logs', view: 'connected_users', startKey: connectedSinceMs }
  const [processing, pushing, feedbacks, conflicting, exceeding, users] = await Promise.all([
    metrics.number('sentinel.backlog', () => processorBacklog(data, sentinel)),
    metrics.number('outbound_push.backlog', signal => pushBacklog(sentinel, signal)),
    metrics.number('feedback', signal => countRows(usersMeta, feedback, signal)),
    metrics.number('conflict', signal => countRows(data, conflicts, signal)),
    metrics.number('replication_limit', signal => countRows(logs, limit, signal)),
    metrics.number('connected_users', signal => countRows(logs, connected, signal)),
  ])
  return {
    sentinel: { backlog: processing },
    outbound_push: { backlog: pushing },
    feedback: { count: feedbacks },
    conflict: { count: conflicting },
    replication_limit: { count: exceeding },
    connected_users: { count: users },
  }
}
