/** Gives every person and every place the short id by which messages name them. */
import { ContactTypes } from '../../contacts/contact-types.ts'
import type { Transition } from '../transition.ts'
import type { Work } from '../work.ts'

type Member = 'patient_id' | 'place_id'

function missingMember({ desk, stored }: Work): Member | undefined {
  const types = ContactTypes.of(desk.settings)
  if (types.isPerson(stored)) return stored.patient_id ? undefined : 'patient_id'
  if (types.isPlace(stored)) return stored.place_id ? undefined : 'place_id'
  return undefined
}

export const generateShortcodeOnContacts: Transition = {
  name: 'generate_shortcode_on_contacts',
  runsOnArrival: false,
  isFor: work => missingMember(work) !== undefined,
  async run(work) {
    const member = missingMember(work)
    if (member === undefined) return false
    work.set({ [member]: await work.desk.shortCodes.next() })
    return true
  },
}

/** What the former was called when it was about people alone; it does the same. */
export const generatePatientIdOnPeople: Transition = {
  ...generateShortcodeOnContacts,
  name: 'generate_patient_id_on_people',
}
