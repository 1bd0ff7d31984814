/** A report that somebody died, or did not after all, sets or removes the day of death of that person. */
import {
  type Document,
  idIn,
  isObject,
  type JsonObject,
  without,
} from '../../documents/document.ts'
import { parseTimestamp } from '../../documents/timestamp.ts'
import { formsIn, isSameForm } from '../submission.ts'
import type { Transition } from '../transition.ts'
import type { Work } from '../work.ts'

const rulesOf = ({ desk }: Work): JsonObject => {
  const rules = desk.settings.all.death_reporting
  return isObject(rules) ? rules : {}
}

const isAmong = (forms: unknown, form: string | undefined): boolean =>
  form !== undefined && formsIn(forms).some(each => isSameForm(each, form))

export const deathReporting: Transition = {
  name: 'death_reporting',
  runsOnArrival: true,
  isFor: work => {
    const { mark_deceased_forms: mark, undo_deceased_forms: undo } = rulesOf(work)
    return isAmong(mark, work.form) || isAmong(undo, work.form)
  },
  async run(work) {
    const id = idIn(work.patient)
    const patient = id === undefined ? undefined : await work.desk.data.get(id)
    if (patient === undefined) return false
    const changed = isAmong(rulesOf(work).mark_deceased_forms, work.form)
      ? dead(work, patient)
      : alive(patient)
    if (changed === undefined) return false
    work.changeOther(changed)
    const { date_of_death: date } = changed
    const { patient: around } = work
    work.setWhole({
      patient:
        date === undefined
          ? without(around ?? {}, 'date_of_death')
          : { ...around, date_of_death: date },
    })
    return true
  },
}

/** Undefined when it is known already. */
function dead(work: Work, patient: Document): Document | undefined {
  if (patient.date_of_death) return undefined
  return { ...patient, date_of_death: dateOf(work) }
}

const alive = (patient: Document): Document | undefined =>
  patient.date_of_death ? (without(patient, 'date_of_death') as unknown as Document) : undefined

function dateOf(work: Work): unknown {
  const { date_field: path } = rulesOf(work)
  const given = typeof path === 'string' ? at(work.stored, path) : undefined
  if (given === undefined || given === null || given === '') return work.reportedMs
  return parseTimestamp(given) ?? given
}

const at = (object: JsonObject, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), object)
