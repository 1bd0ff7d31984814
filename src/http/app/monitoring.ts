/** `/api/v1/monitoring` and `/api/v2/monitoring`: how the installation does. Also tells those who ask that it is there. */
import { CONNECTED_DAYS_DEFAULT, type MonitoringForm } from '../../app/monitoring/monitoring.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange, AppHandler } from './app-exchange.ts'

const monitoringIn =
  (form: MonitoringForm): AppHandler =>
  async (exchange): Promise<Reply> =>
    exchange.json(await exchange.application.monitoring.read(form, daysOf(exchange)))

export const getMonitoringV1 = monitoringIn('v1')
export const getMonitoringV2 = monitoringIn('v2')

const DAYS_MAX = 36_500

/** Anything that is no number of days counts as not given: whoever watches must get an answer. */
function daysOf(exchange: AppExchange): number {
  const given = [exchange.param('connected_user_interval') ?? ''].flat().at(-1) ?? ''
  const days = given.trim() === '' ? Number.NaN : Number(given)
  return days >= 0 && days <= DAYS_MAX ? days : CONNECTED_DAYS_DEFAULT
}
