/**
 * Sends a message when a report meets a condition: an expression that may ask for this and earlier reports of the same
 * form from the same place, `FORM(0)` for the newest, `FORM(1)` for the one before. A form whose code is no name in
 * JavaScript is asked for as `form(0)`.
 */
import { type Document, idIn, isObject, isText, type JsonObject } from '../../documents/document.ts'
import { isSameForm, isValidSubmission } from '../submission.ts'
import type { Transition } from '../transition.ts'
import type { Work } from '../work.ts'

interface Alert extends JsonObject {
  readonly name: string
}

/** Earlier reports that conditions may ask for. */
const REPORTS_MAX = 50

function alertsFor({ desk, form }: Work): Alert[] {
  const { alerts } = desk.settings.all
  if (form === undefined || !(isObject(alerts) || Array.isArray(alerts))) return []
  return Object.entries(alerts).flatMap(([name, alert]) =>
    isObject(alert) && isSameForm(alert.form, form) && isText(alert.condition)
      ? [{ ...alert, name }]
      : [],
  )
}

export const conditionalAlerts: Transition = {
  name: 'conditional_alerts',
  runsOnArrival: true,
  isFor: work => alertsFor(work).length > 0 && isValidSubmission(work),
  async run(work) {
    let isSent = false
    for (const alert of alertsFor(work)) {
      if (!(await isMet(work, alert))) continue
      const source = { ...alert, message: alert.message ?? alert.messages }
      work.addMessage(source, `conditional_alerts:${alert.name}`)
      isSent = true
    }
    return isSent
  },
}

async function isMet(work: Work, { condition }: Alert): Promise<boolean> {
  const text = String(condition)
  const form = work.form as string
  const asks = text.includes(`${form}(`) || text.includes('form(')
  const reports = asks ? await sameReports(work) : []
  const named = /^[A-Za-z_$][\w$]*$/.test(form) ? `var ${form} = form;` : ''
  return work.desk.expressions.isTrue({
    source: `(function () { function form(at) { return reports[at]; } ${named} return (${text}\n); })()`,
    names: { doc: work.whole, reports },
  })
}

/** Newest first, with their fields as members beside the others. */
async function sameReports(work: Work): Promise<JsonObject[]> {
  const { data, client } = work.desk
  const place = parentOf(work.stored)
  const rows =
    place === undefined
      ? []
      : await data.allRows(client, 'reports_by_place', {
          startKey: [place],
          endKey: [place],
        })
  const newest = rows
    .filter(({ id }) => id !== work.id)
    .sort((a, b) => Number(b.value) - Number(a.value))
    .slice(0, REPORTS_MAX * 4)
  const found = await data.getMany(newest.map(({ id }) => id))
  const others = found.filter(
    each => each !== undefined && each.form === work.form && parentOf(each) === place,
  ) as Document[]
  return [work.stored, ...others.slice(0, REPORTS_MAX)]
    .sort((a, b) => Number(b.reported_date) - Number(a.reported_date))
    .map(report => ({ ...report, ...(isObject(report.fields) ? report.fields : {}) }))
}

const parentOf = ({ contact }: Document): string | undefined =>
  isObject(contact) ? idIn(contact.parent) : undefined
