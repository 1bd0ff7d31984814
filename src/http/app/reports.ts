/** `/api/v1/report`. */
import { listReportIds, readReport } from '../../app/reports/read-report.ts'
import { createReport, updateReport } from '../../app/reports/save-report.ts'
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
  const freetext = exchange.param('freetext')
  return exchange.page(listReportIds(exchange.context, freetext, request, exchange.request.signal))
}

export const postReport = async (exchange: AppExchange): Promise<Reply> =>
  exchange.json(await createReport(exchange.context, await exchange.jsonBody()))

export async function putReport(exchange: AppExchange): Promise<Reply> {
  const given = await exchange.jsonBody()
  return exchange.json(await updateReport(exchange.context, exchange.params.get('uuid'), given))
}
