/**
 * Reports that silence somebody, or a place with all in it, and those that end it. Messages to muted people wait; a contact
 * that is made below a muted place is muted too. Ending it for one ends it for the topmost muted place above and all below.
 */
import { ContactTypes } from '../../contacts/contact-types.ts'
import { idIn, isObject, isText, type JsonObject } from '../../documents/document.ts'
import { muteBelow } from '../mute-contacts.ts'
import { formsIn, isSameForm, isValidSubmission, reject, sendMessages } from '../submission.ts'
import type { Transition } from '../transition.ts'
import { reportErrors, validate } from '../validation/validate.ts'
import type { Work } from '../work.ts'

const WHY = 'muting'

const rulesOf = ({ desk }: Work): JsonObject => {
  const { muting: rules } = desk.settings.all
  return isObject(rules) ? rules : {}
}

/** True to mute, false to end it, undefined for other documents. */
function wanted(work: Work): boolean | undefined {
  const { form } = work
  if (form === undefined) return undefined
  const { mute_forms: mute, unmute_forms: unmute } = rulesOf(work)
  if (formsIn(mute).some(each => isSameForm(each, form))) return true
  return formsIn(unmute).some(each => isSameForm(each, form)) ? false : undefined
}

export const muting: Transition = {
  name: WHY,
  runsOnArrival: false,
  isFor: work => (wanted(work) === undefined ? isNewBelowMuted(work) : isValidSubmission(work)),
  async run(work) {
    const isMuting = wanted(work)
    if (isMuting === undefined) {
      await muteNew(work)
      return true
    }
    const rules = rulesOf(work)
    const errors = await validate(work, rules.validations)
    if (errors.length > 0) {
      reportErrors(work, errors, rules, WHY)
      return true
    }
    const contact = work.patient ?? work.place
    if (contact === undefined) {
      reject(work, rules.messages, 'contact_not_found', WHY)
      return true
    }
    const event = await apply(work, contact, isMuting)
    await sendMessages(work, rules.messages, { events: [event], why: `${WHY}:${event}` })
    return true
  },
}

/** The event that happened. */
async function apply(work: Work, contact: JsonObject, isMuting: boolean): Promise<string> {
  const muted = mutedChain(contact)
  const isSame = isMuting === muted.length > 0
  // After a crash the contact is muted, by this very report: that is no other event than the first time.
  if (isSame && !(await wasByThis(work, contact, isMuting))) {
    return isMuting ? 'already_muted' : 'already_unmuted'
  }
  const topmost = isMuting ? contact : (muted.at(-1) ?? contact)
  await muteBelow(work, idIn(topmost) as string, isMuting)
  return isMuting ? 'mute' : 'unmute'
}

async function wasByThis(work: Work, contact: JsonObject, isMuting: boolean): Promise<boolean> {
  const last = await work.desk.lastMuting(idIn(contact) as string)
  return last?.report_id === work.id && last.muted === isMuting
}

/** The contact and those above it that are muted, from below. */
function mutedChain(contact: JsonObject): JsonObject[] {
  const chain: JsonObject[] = []
  for (let at: unknown = contact; isObject(at); at = at.parent) if (at.muted) chain.push(at)
  return chain
}

const isNewBelowMuted = ({ desk, stored, whole }: Work): boolean =>
  ContactTypes.of(desk.settings).isContact(stored) &&
  !stored.muted &&
  isObject(whole.parent) &&
  mutedChain(whole.parent).length > 0

async function muteNew(work: Work): Promise<void> {
  const date = new Date(work.desk.clock()).toISOString()
  const above = mutedChain(work.whole.parent as JsonObject)[0] as JsonObject
  const last = await work.desk.lastMuting(idIn(above) as string)
  work.set({ muted: isText(above.muted) || typeof above.muted === 'number' ? above.muted : date })
  const entry = { muted: true, date, ...(last?.report_id && { report_id: last.report_id }) }
  await work.desk.rememberMuting([work.id], entry)
}
