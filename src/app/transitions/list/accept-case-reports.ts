/** Reports about a case that was registered: as those about people, by the id of the case. */
import { isObject, isText } from '../../documents/document.ts'
import { registrationsOfCase } from '../registrations.ts'
import { type FormRules, isValidSubmission, reject, rulesFor, sendMessages } from '../submission.ts'
import type { Transition } from '../transition.ts'
import { reportErrors, validate } from '../validation/validate.ts'
import type { Work } from '../work.ts'
import { acceptReport } from './accept-patient-reports.ts'

const WHY = 'accept_case_reports'

const rulesOf = ({ desk, form }: Work): FormRules | undefined =>
  rulesFor(desk.settings.all.accept_case_reports, form)

export const acceptCaseReports: Transition = {
  name: WHY,
  runsOnArrival: true,
  isFor: work => rulesOf(work) !== undefined && isValidSubmission(work),
  async run(work) {
    const rules = rulesOf(work) as FormRules
    const errors = await validate(work, rules.validations)
    if (errors.length > 0) {
      reportErrors(work, errors, rules, WHY)
      return true
    }
    const code = work.fields.case_id ?? work.stored.case_id
    const found = code ? await registrationsOfCase(work.desk, String(code)) : []
    const registrations = found.filter(({ _id }) => _id !== work.id)
    if (registrations.length === 0) {
      reject(work, rules.messages, 'registration_not_found', WHY)
      return true
    }
    const places = registrations.map(({ fields }) => (isObject(fields) ? fields.place_uuid : ''))
    const place = places.find(isText)
    if (place !== undefined) work.setFields({ place_uuid: place })
    acceptReport(work, rules, registrations)
    const events = [undefined, '', 'report_accepted']
    await sendMessages(work, rules.messages, { events, why: WHY })
    return true
  },
}
