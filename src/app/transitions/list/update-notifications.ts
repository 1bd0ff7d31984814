/** The former way to silence people: reports that mute or unmute the messages of a person's registrations, and no more. */
import { isObject, type JsonObject } from '../../documents/document.ts'
import { withMutedTasks } from '../mute-contacts.ts'
import { registrationsOf, subjectCodes } from '../registrations.ts'
import { isSameForm, isValidSubmission, reject, sendMessages } from '../submission.ts'
import type { Transition } from '../transition.ts'
import { reportErrors, validate } from '../validation/validate.ts'
import type { Work } from '../work.ts'

const WHY = 'update_notifications'

const rulesOf = ({ desk }: Work): JsonObject => {
  const { notifications: rules } = desk.settings.all
  return isObject(rules) ? rules : {}
}

const isForm = (form: unknown, work: Work): boolean =>
  work.form !== undefined && isSameForm(form, work.form)

export const updateNotifications: Transition = {
  name: WHY,
  runsOnArrival: false,
  isFor: work => {
    const { on_mute_form: mute, on_unmute_form: unmute } = rulesOf(work)
    return (isForm(mute, work) || isForm(unmute, work)) && isValidSubmission(work)
  },
  async run(work) {
    const rules = rulesOf(work)
    const errors = await validate(work, rules.validations)
    if (errors.length > 0) {
      reportErrors(work, errors, rules, WHY)
      return true
    }
    if (work.patient === undefined && work.place === undefined) {
      reject(work, rules.messages, 'registration_not_found', WHY)
      return true
    }
    const isMuting = isForm(rules.on_mute_form, work)
    for (const registration of await registrationsOf(work.desk, subjectCodes(work))) {
      const next = withMutedTasks(registration, isMuting, work.desk.clock())
      if (next !== registration) work.changeOther(next)
    }
    const events = [isMuting ? 'on_mute' : 'on_unmute']
    await sendMessages(work, rules.messages, { events, why: WHY })
    return true
  },
}
