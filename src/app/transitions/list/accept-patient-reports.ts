/**
 * Reports about somebody who is registered: they end the reminders that were waiting for them, are tied to the
 * registration, and are answered.
 */
import { isObject } from '../../documents/document.ts'
import { registrationsOf, scheduleNames, silence, subjectCodes } from '../registrations.ts'
import { type FormRules, isValidSubmission, reject, rulesFor, sendMessages } from '../submission.ts'
import type { Transition } from '../transition.ts'
import { reportErrors, validate } from '../validation/validate.ts'
import type { Work } from '../work.ts'

const WHY = 'accept_patient_reports'

const rulesOf = ({ desk, form }: Work): FormRules | undefined =>
  rulesFor(desk.settings.all.patient_reports, form)

export const acceptPatientReports: Transition = {
  name: WHY,
  runsOnArrival: true,
  lookups: ({ fields }) => {
    const { patient_id: patient, place_id: place } = isObject(fields) ? fields : {}
    const codes = [patient, place].filter(code => code !== undefined && code !== '').map(String)
    return codes.map(key => ({ view: 'registered_patients', key }))
  },
  isFor: work => rulesOf(work) !== undefined && isValidSubmission(work),
  async run(work) {
    const rules = rulesOf(work) as FormRules
    const errors = await validate(work, rules.validations)
    if (errors.length > 0) {
      reportErrors(work, errors, rules, WHY)
      return true
    }
    if (work.patient === undefined && work.place === undefined) {
      reject(work, rules.messages, 'registration_not_found', WHY)
      return true
    }
    const registrations = await registrationsOf(work.desk, subjectCodes(work))
    acceptReport(work, rules, registrations)
    const events = [undefined, '', 'report_accepted']
    await sendMessages(work, rules.messages, { events, why: WHY })
    return true
  },
}

/** Ends reminders and ties the report to the newest registration. */
export function acceptReport(
  work: Work,
  rules: FormRules,
  registrations: Parameters<typeof silence>[1],
): void {
  const { silence_type: types, silence_for: span } = rules
  const newest = silence(work, registrations, { types: scheduleNames(types), span })
  if (newest !== undefined) work.set({ registration_id: newest._id })
}
