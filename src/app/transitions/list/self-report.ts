/** Reports that people send about themselves: whom they are about is whoever sent them. */
import { isObject } from '../../documents/document.ts'
import { isSameForm, reject, rulesFor, sendMessages } from '../submission.ts'
import type { Transition } from '../transition.ts'
import type { Work } from '../work.ts'

const rulesOf = ({ desk, form }: Work) =>
  rulesFor([desk.settings.all.self_report].flat().filter(isObject), form)

export const selfReport: Transition = {
  name: 'self_report',
  runsOnArrival: true,
  isFor: work => {
    const rules = rulesOf(work)
    return rules !== undefined && isSameForm(rules.form, work.form ?? '') && isUnset(work)
  },
  async run(work) {
    const rules = rulesOf(work)
    const { contact } = work
    if (contact === undefined) {
      reject(work, rules?.messages, 'sender_not_found', 'self_report')
      return true
    }
    const code = contact.patient_id
    work.setFields({
      ...(code === undefined ? {} : { patient_id: code }),
      patient_uuid: contact._id,
    })
    work.setWhole({ patient: contact })
    const events = [undefined, 'report_accepted']
    await sendMessages(work, rules?.messages, { events, why: 'self_report' })
    return true
  },
}

/** One that says whom it is about is not about its sender; one that this rule has set is. */
const isUnset = ({ fields, contact }: Work): boolean =>
  fields.patient_uuid === undefined || fields.patient_uuid === contact?._id
