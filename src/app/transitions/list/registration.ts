/**
 * Reports of configured forms register people, places, cases and dates, and begin or end schedules of messages. A report
 * that breaks a rule, or is about nobody known, is refused with an error and an answer; nothing else of it happens.
 */
import { ContactTypes } from '../../contacts/contact-types.ts'
import { isObject, isText, type JsonObject } from '../../documents/document.ts'
import { generateMessage } from '../../messages/generate-message.ts'
import { taskList } from '../../messages/message-task.ts'
import { findSchedule, hasSchedule, scheduledTasks } from '../../schedules/assign-schedule.ts'
import { addContact, PATIENT, PLACE } from '../registration/add-contact.ts'
import { addBirthDate, addExpectedDate } from '../registration/add-dates.ts'
import { parametersOf, textParameter } from '../registration/parameters.ts'
import { registrationsOf, scheduleNames, silence, subjectCodes } from '../registrations.ts'
import { stableUuid } from '../stable-id.ts'
import {
  type FormRules,
  holds,
  isValidSubmission,
  messagesIn,
  reject,
  rulesFor,
} from '../submission.ts'
import type { Transition } from '../transition.ts'
import { reportErrors, validate } from '../validation/validate.ts'
import type { Work } from '../work.ts'

const WHY = 'registration'

const rulesOf = ({ desk, form }: Work): FormRules | undefined =>
  rulesFor(desk.settings.all.registrations, form)

export const registration: Transition = {
  name: 'registration',
  runsOnArrival: true,
  isFor: work => rulesOf(work) !== undefined && isValidSubmission(work),
  async run(work) {
    const rules = rulesOf(work) as FormRules
    const errors = await validate(work, rules.validations)
    if (errors.length > 0) {
      reportErrors(work, errors, rules, WHY)
      return true
    }
    const events = eventsOf(rules)
    if (isAboutNobody(work, events)) {
      reject(work, rules.messages, 'registration_not_found', WHY)
      return true
    }
    for (const event of events) {
      if (!(await holds(work, event.bool_expr))) continue
      const refusal = await trigger(work, event)
      if (refusal === undefined) continue
      reject(work, rules.messages, refusal, WHY)
      return true
    }
    await accept(work, rules)
    return true
  },
}

interface RegistrationEvent extends JsonObject {
  readonly trigger: string
}

function eventsOf({ events }: FormRules): RegistrationEvent[] {
  if (!Array.isArray(events)) return []
  return events.filter(
    event => isObject(event) && event.name === 'on_create' && isText(event.trigger),
  ) as RegistrationEvent[]
}

/** It names somebody who is not there; unless that is the id it brings along for somebody new. */
function isAboutNobody(work: Work, events: readonly RegistrationEvent[]): boolean {
  const brought = events.flatMap(({ params }) => {
    const parameters = parametersOf(params)
    return [
      textParameter(parameters, 'patient_id_field'),
      textParameter(parameters, 'place_id_field'),
    ]
  })
  const names = (member: string): boolean =>
    Boolean(work.fields[member]) && !brought.includes(member)
  return (
    (names('patient_id') && work.patient === undefined) ||
    (names('place_id') && work.place === undefined)
  )
}

/** The code of a refusal, or undefined. Triggers that nobody knows are a mistake in the settings. */
async function trigger(work: Work, event: RegistrationEvent): Promise<string | undefined> {
  const name = event.trigger.trim()
  if (name === 'add_patient' || name === 'add_patient_id') {
    return addContact(work, PATIENT, parametersOf(event.params))
  }
  if (name === 'add_place') return addContact(work, PLACE, parametersOf(event.params))
  if (name === 'add_case') await addCase(work)
  else if (name === 'add_expected_date') addExpectedDate(work)
  else if (name === 'add_birth_date') addBirthDate(work)
  else if (name === 'assign_schedule') assignSchedules(work, scheduleNames(event.params))
  else if (name === 'clear_schedule') await clearSchedules(work, scheduleNames(event.params))
  else throw new Error(`there is no trigger ${name}`)
  return undefined
}

async function addCase(work: Work): Promise<void> {
  if (isText(work.stored.case_id)) return
  work.set({ case_id: await work.desk.shortCodes.next() })
}

function assignSchedules(work: Work, names: readonly string[]): void {
  const { desk } = work
  for (const name of names) {
    const schedule = findSchedule(desk.settings.all.schedules, name)
    if (schedule === undefined) throw new Error(`there is no schedule ${name}`)
    if (hasSchedule(work.stored, name)) continue
    const tasks = scheduledTasks({
      schedule,
      report: work.stored,
      patient: work.patient ?? work.place,
      nowMs: desk.clock(),
      isMuted: isMuted(work),
      generate: (message, at) => [
        generateMessage(
          desk.messageKit(stableUuid(work.id, name, String(at))),
          work.whole,
          message,
        ),
      ],
    })
    if (tasks.length === 0) continue
    work.set({ scheduled_tasks: [...taskList(work.stored.scheduled_tasks), ...tasks] })
  }
}

/** Somebody is muted when any place above is. */
function isMuted({ patient, place, desk }: Work): boolean {
  const types = ContactTypes.of(desk.settings)
  for (let at: unknown = patient ?? place; isObject(at); at = at.parent) {
    if (at.muted && (types.isContact(at) || at.type !== undefined)) return true
  }
  return false
}

async function clearSchedules(work: Work, names: readonly string[]): Promise<void> {
  const registrations = await registrationsOf(work.desk, subjectCodes(work))
  silence(work, registrations, { types: names })
}

/** Everything that is said to be sent when a report of this form comes; refusals have texts of their own. */
async function accept(work: Work, { messages }: FormRules): Promise<void> {
  for (const [index, message] of messagesIn(messages).entries()) {
    const { event_type: event } = message
    if (event !== undefined && event !== '' && event !== 'report_accepted') continue
    if (!(await holds(work, message.bool_expr))) continue
    work.addMessage(message, `${WHY}:${index}`)
  }
}
