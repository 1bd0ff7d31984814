/** `/api/v1/express-metrics`: how the server's processes do, for scrapers; with the database's own figures. */
import { deployInfoOf } from '../../app/upgrades/deploy-info.ts'
import { metricsText } from '../../base/metrics-text.ts'
import type { Reply } from '../kit/reply.ts'
import { sumMetrics } from '../kit/request-metrics.ts'
import type { AppExchange } from './app-exchange.ts'

/** Of all metrics of the application. */
export const METRICS_PREFIX = 'svc_api_'

export async function getExpressMetrics(exchange: AppExchange): Promise<Reply> {
  const [sum, database] = await Promise.all([
    gathered(exchange),
    exchange.application.server.metrics(),
  ])
  const headers = ['Content-Type', sum.contentType]
  return { status: 200, headers, body: `${await sum.metrics()}${metricsText(database)}` }
}

export async function getExpressMetricsJson(exchange: AppExchange): Promise<Reply> {
  return exchange.json(await (await gathered(exchange)).getMetricsAsJSON())
}

async function gathered({ gatherProcessMetrics, application }: AppExchange) {
  const { data } = application
  const [processes, design] = await Promise.all([
    gatherProcessMetrics(),
    // Without the application's databases there is still something to tell.
    data.get(`_design/${data.name}`).catch(() => undefined),
  ])
  const version = design === undefined ? application.version : deployInfoOf(design).version
  return sumMetrics(processes, { name: `${METRICS_PREFIX}app_version`, version })
}
