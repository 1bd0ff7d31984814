/** `/api/v1/report`. */
import { listByIds, parseIdList } from '../../app/documents/list-by-ids.ts'
import { isReport, listReportIds, readReport } from '../../app/reports/read-report.ts'
import { readSummaries } from '../../app/reports/read-summaries.ts'
import { createReport, updateReport } from '../../app/reports/save-report.ts'
import { Failure } from '../../base/errors.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange } from './app-exchange.ts'
import { pageOf } from './contacts.ts'

const IDS_LIMIT_DEFAULT = 10_000

export async function getReport(exchange: AppExchange): Promise<Reply> {
  const withLineage = exchange.isParamTrue('with_lineage')
  const id = exchange.params.get('uuid')
  return exchange.json(await readReport(exchange.context, id, { withLineage }))
}

export function getReportIds(exchange: AppExchange): Reply {
  const request = pageOf(exchange, IDS_LIMIT_DEFAULT)
  const form = exchange.param('form')
  const search = {
    freetext: exchange.param('freetext'),
    forms: form === undefined ? undefined : parseIdList(form),
  }
  return exchange.page(listReportIds(exchange.context, search, request, exchange.request.signal))
}

const LIMIT_DEFAULT = 100

export function getReports(exchange: AppExchange): Reply {
  const ids = exchange.param('ids')
  if (ids === undefined) {
    throw new Failure('request_invalid', { reason: 'Query param ids is required' })
  }
  const page = pageOf(exchange, LIMIT_DEFAULT)
  return exchange.page(listByIds(exchange.context.data, parseIdList(ids), page, isReport))
}

export async function postReportSummary(exchange: AppExchange): Promise<Reply> {
  const { ids } = (await exchange.jsonBody()) as { ids?: unknown }
  return exchange.json(await readSummaries(exchange.context, 'report', ids))
}

export const postReport = async (exchange: AppExchange): Promise<Reply> =>
  exchange.json(await createReport(exchange.context, await exchange.jsonBody()))

export async function putReport(exchange: AppExchange): Promise<Reply> {
  const given = await exchange.jsonBody()
  return exchange.json(await updateReport(exchange.context, exchange.params.get('uuid'), given))
}
