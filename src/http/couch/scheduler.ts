/** `/_scheduler`: the replications of this server, by job and by document. */
import { Failure } from '../../base/errors.ts'
import {
  REPLICATION_STATES,
  type ReplicationState,
  type SchedulerQuery,
} from '../../core/operations/replication-operations.ts'
import type { Reply } from '../kit/reply.ts'
import type { HttpRequest } from '../kit/request.ts'
import type { Exchange } from './exchange.ts'

const LIMIT_DEFAULT = 100

export async function schedulerJobs(exchange: Exchange): Promise<Reply> {
  const { skip, limit } = pageOf(exchange.request)
  const jobs = await exchange.server.replication.jobs()
  const total_rows = jobs.length
  return exchange.value(200, { total_rows, offset: skip, jobs: jobs.slice(skip, skip + limit) })
}

export async function schedulerJob(exchange: Exchange): Promise<Reply> {
  const id = exchange.params.get('id')
  const jobs = await exchange.server.replication.jobs()
  const job = jobs.find(each => each.id === id)
  if (job === undefined) throw missing()
  return exchange.value(200, job)
}

export async function schedulerDocs(exchange: Exchange): Promise<Reply> {
  return await listDocs(exchange, queryOf(exchange.request))
}

/** Below a database of replications, whose name may have slashes in it: all of them, or one. */
export async function schedulerDocsOf(exchange: Exchange): Promise<Reply> {
  const path = exchange.params.rest.join('/')
  const found = /^((?:.*?\/)?_replicator)(?:\/(.+))?$/s.exec(path)
  if (found === null) throw new Failure('request_invalid', { reason: 'Invalid path' })
  const [, database, id] = found as unknown as [string, string, string | undefined]
  if ((await exchange.server.databaseInfo(database)) === undefined) throw missing()
  if (id === undefined) return await listDocs(exchange, { ...queryOf(exchange.request), database })
  const query = { database, id, states: [], skip: 0, limit: 1, descending: false }
  const [document] = (await exchange.server.replication.documents(query)).documents
  if (document === undefined) throw missing()
  return exchange.value(200, document)
}

export function schedulerElsewhere(exchange: Exchange): Reply {
  return exchange.value(404, { error: 'not found' })
}

async function listDocs(exchange: Exchange, query: SchedulerQuery): Promise<Reply> {
  const { total, documents } = await exchange.server.replication.documents(query)
  return exchange.value(200, { total_rows: total, offset: query.skip, docs: documents })
}

const missing = (): Failure => new Failure('document_missing', { reason: 'missing' })

function queryOf(request: HttpRequest): SchedulerQuery {
  const descending = request.query.get('descending') === 'true'
  return { ...pageOf(request), states: statesOf(request.query.get('states')), descending }
}

function pageOf({ query }: HttpRequest): { skip: number; limit: number } {
  return {
    skip: numberOf(query.get('skip'), 'skip', 0),
    limit: numberOf(query.get('limit'), 'limit', LIMIT_DEFAULT),
  }
}

function numberOf(text: string | undefined, name: string, fallback: number): number {
  if (text === undefined) return fallback
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const reason = `Invalid value for \`${name}\`: a whole number is expected`
  throw new Failure('query_invalid', { reason })
}

function statesOf(text: string | undefined): ReplicationState[] {
  if (text === undefined || text === '') return []
  const states = text.split(',').map(state => state.trim().toLowerCase())
  if (states.every(isState)) return states
  const reason = `States must be one or more of [${REPLICATION_STATES.join(',')}]`
  throw new Failure('request_invalid', { reason })
}

const isState = (text: string): text is ReplicationState =>
  (REPLICATION_STATES as readonly string[]).includes(text)
