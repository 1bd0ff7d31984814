/**
 * Sends messages when enough reports that count came in within a span of days. Each report counts for an alert once: those
 * that an earlier message was about are not told of again.
 */

import { hydrateMany } from '../../contacts/hydrate.ts'
import { type Document, isObject, isText, type JsonObject } from '../../documents/document.ts'
import { taskList } from '../../messages/message-task.ts'
import { recipientPhone } from '../../messages/recipient.ts'
import { formsIn, isSameForm } from '../submission.ts'
import type { Transition } from '../transition.ts'
import type { Work } from '../work.ts'

const DAY_MS = 86_400_000
const REPORTS_MAX = 2000
const MESSAGES_MAX = 100

function alertsFor({ desk, form }: Work): JsonObject[] {
  const { multi_report_alerts: alerts } = desk.settings.all
  if (form === undefined || !Array.isArray(alerts)) return []
  return alerts.filter(isObject).filter(alert => {
    const forms = formsIn(alert.forms)
    return forms.length === 0 || forms.some(each => isSameForm(each, form))
  })
}

export const multiReportAlerts: Transition = {
  name: 'multi_report_alerts',
  runsOnArrival: true,
  isFor: work => work.errors.length === 0 && alertsFor(work).length > 0,
  async run(work) {
    let isSent = false
    for (const alert of alertsFor(work)) isSent = (await runAlert(work, alert)) || isSent
    return isSent
  },
}

async function runAlert(work: Work, alert: JsonObject): Promise<boolean> {
  const name = String(alert.name ?? '')
  if (!(await counted(work, alert, [work.whole])).includes(work.whole)) return false
  const others = await reportsWithin(work, alert)
  const counting = [work.whole, ...(await counted(work, alert, others))]
  if (counting.length < Number(alert.num_reports_threshold)) return false
  const told = new Set(others.flatMap(report => toldIn(report, name)))
  const fresh = counting.filter(({ _id: id }) => id === work.id || !told.has(String(id)))
  const names = {
    alert_name: name,
    new_reports: fresh,
    num_counted_reports: counting.length,
    num_reports_threshold: alert.num_reports_threshold,
    time_window_in_days: alert.time_window_in_days,
  }
  const members = {
    type: 'alert',
    alert_name: name,
    counted_reports: counting.map(({ _id: id }) => id),
  }
  const phones = recipientsOf(alert, fresh).slice(0, MESSAGES_MAX)
  for (const phone of phones) {
    const source = {
      message: alert.message,
      translation_key: alert.translation_key,
      recipient: phone,
    }
    work.addMessage(source, `multi_report_alerts:${name}:${phone}`, { names, members })
  }
  return phones.length > 0
}

/** Reports that an alert of this name in that report was about. */
const toldIn = (report: JsonObject, name: string): string[] =>
  taskList(report.tasks).flatMap(task =>
    task.type === 'alert' && task.alert_name === name && Array.isArray(task.counted_reports)
      ? task.counted_reports.map(String)
      : [],
  )

async function counted(
  work: Work,
  { is_report_counted: source }: JsonObject,
  reports: readonly JsonObject[],
): Promise<JsonObject[]> {
  if (!isText(source)) return [...reports]
  const values = await work.desk.expressions.values(
    reports.map(report => ({
      source: `(${source}\n)(report, latestReport)`,
      names: { report, latestReport: work.whole },
    })),
  )
  return reports.filter((_, index) => Boolean(values[index]))
}

/** Others of the forms within the days before this one, whole. */
async function reportsWithin(work: Work, alert: JsonObject): Promise<JsonObject[]> {
  const { data, client } = work.desk
  const days = Number(alert.time_window_in_days)
  const endMs = work.reportedMs
  const startMs = endMs - (Number.isFinite(days) ? days : 0) * DAY_MS
  const query = { startKey: [startMs], endKey: [endMs], limit: REPORTS_MAX }
  const rows = await data.rangeRows(client, 'reports_by_date', query, key => {
    const [ms] = key as [unknown]
    return typeof ms === 'number' && ms >= startMs && ms <= endMs
  })
  const found = await data.getMany(rows.map(({ id }) => id).filter(id => id !== work.id))
  const forms = formsIn(alert.forms)
  const documents = found.filter(
    each =>
      each !== undefined &&
      (forms.length === 0 || forms.some(form => isSameForm(form, String(each.form)))),
  ) as Document[]
  return documents.length === 0 ? [] : hydrateMany(work.desk, documents)
}

/** `new_report.…` is asked of each report that is new; anything else is a number. */
function recipientsOf({ recipients }: JsonObject, fresh: readonly JsonObject[]): string[] {
  const wanted = [recipients].flat().filter(isText)
  const phones = wanted.flatMap(recipient => {
    const path = /^new_report\.(.+)$/.exec(recipient.trim())?.[1]
    if (path === undefined) return [recipient.trim()]
    return fresh.map(report => recipientPhone({ ...report, from: undefined }, path))
  })
  return [...new Set(phones.filter(isText))]
}
