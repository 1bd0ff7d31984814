/**
 * Says who sent a record: by the reference code in it, else by the phone it came from. A place stands for its primary
 * contact. A report from nobody known gets an error, unless its form is open to all or it came from a device.
 */
import { ContactTypes } from '../../contacts/contact-types.ts'
import { hydrateOne } from '../../contacts/hydrate.ts'
import { referenceTo } from '../../contacts/lineage.ts'
import { type Document, idIn, isText } from '../../documents/document.ts'
import { formDefinition, isXmlReport } from '../submission.ts'
import type { Transition } from '../transition.ts'
import type { Work } from '../work.ts'

const NOT_FOUND = 'sys.facility_not_found'

export const updateClinics: Transition = {
  name: 'update_clinics',
  runsOnArrival: true,
  lookups: ({ type, from, contact }) =>
    type === 'data_record' && isText(from) && !contact
      ? [{ view: 'contacts_by_phone', key: from }]
      : [],
  isFor: work => work.isRecord && work.contactId === undefined && isReceived(work),
  async run(work) {
    const contact = await findSender(work)
    if (contact !== undefined) {
      work.set({ contact: referenceTo(contact) }, { contact: await hydrateOne(work.desk, contact) })
      return true
    }
    if (isXmlReport(work)) return false
    return refuse(work)
  },
}

/** Messages that were written here to be sent have no sender to look for. */
const isReceived = ({ stored }: Work): boolean => stored.kujua_message !== true

function refuse(work: Work): boolean {
  const definition = formDefinition(work.desk.settings, work.form)
  if (definition?.public_form === true) return false
  if (work.errors.some(({ code }) => code === NOT_FOUND)) return false
  work.addError({ code: NOT_FOUND, message: work.render(work.textOf(NOT_FOUND)) })
  if (definition !== undefined) {
    const text = work.textOf(`messages.generic.${NOT_FOUND}`)
    work.addMessage({ ...text, recipient: 'reporting_unit' }, `update_clinics:${NOT_FOUND}`)
  }
  return true
}

async function findSender(work: Work): Promise<Document | undefined> {
  const { refid, from } = work.stored
  if (refid !== undefined && refid !== null && refid !== '') {
    const code = String(refid).toUpperCase()
    const found = await first(work, 'contacts_by_reference', ['external', code])
    return found && inCharge(work, found)
  }
  return typeof from === 'string' && from !== ''
    ? first(work, 'contacts_by_phone', from)
    : undefined
}

async function first(work: Work, view: string, key: unknown): Promise<Document | undefined> {
  const { data, client } = work.desk
  const rows = await data.allRows(client, view, { keys: [key] })
  const found = await data.getMany(rows.map(({ id }) => id))
  return found.find(document => document !== undefined)
}

async function inCharge(work: Work, contact: Document): Promise<Document | undefined> {
  const { data, settings } = work.desk
  if (ContactTypes.of(settings).isPerson(contact)) return contact
  const primary = idIn(contact.contact)
  return primary === undefined ? undefined : data.get(primary)
}
