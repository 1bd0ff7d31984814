/** Of the weekly or monthly reports of one place about one time, only the newest stays. */
import { idIn, isObject } from '../../documents/document.ts'
import type { Transition } from '../transition.ts'
import type { Work } from '../work.ts'

type Period = { readonly view: string; readonly period: unknown }

function periodOf({ fields }: Work): Period | undefined {
  const week = fields.week || fields.week_number
  const month = fields.month || fields.month_num
  if (!fields.year) return undefined
  if (month) return { view: 'reports_by_form_year_month_parent_reported_date', period: month }
  return week ? { view: 'reports_by_form_year_week_parent_reported_date', period: week } : undefined
}

const parentOf = ({ stored }: Work): string | undefined =>
  isObject(stored.contact) ? idIn(stored.contact.parent) : undefined

export const updateScheduledReports: Transition = {
  name: 'update_scheduled_reports',
  runsOnArrival: true,
  isFor: work =>
    work.form !== undefined &&
    work.errors.length === 0 &&
    parentOf(work) !== undefined &&
    periodOf(work) !== undefined,
  async run(work) {
    const { view, period } = periodOf(work) as Period
    const { data } = work.desk
    const start = [work.form, work.fields.year, period, parentOf(work)]
    const rows = await data.allRows(data.name, view, { startKey: start, endKey: [...start, {}] })
    const others = rows.filter(({ id, key }) => {
      const date = (key as readonly unknown[])[4]
      if (typeof date !== 'number' || date < work.reportedMs) return id !== work.id
      return date === work.reportedMs && id < work.id
    })
    const documents = await data.getMany(others.map(({ id }) => id))
    const older = documents.filter(document => document !== undefined)
    for (const { _id, _rev } of older) {
      if (_rev !== undefined) work.changeOther({ _id, _rev, _deleted: true })
    }
    return older.length > 0
  },
}
