/** Names who sent a message: the contact with that phone. */
import { isText } from '../../documents/document.ts'
import type { Transition } from '../transition.ts'

export const updateSentBy: Transition = {
  name: 'update_sent_by',
  runsOnArrival: true,
  lookups: ({ type, from, sent_by: name }) =>
    type === 'data_record' && isText(from) && !name
      ? [{ view: 'contacts_by_phone', key: from }]
      : [],
  isFor: ({ isRecord, stored }) =>
    isRecord && typeof stored.from === 'string' && stored.from !== '' && !stored.sent_by,
  async run(work) {
    const { data, client } = work.desk
    const rows = await data.allRows(client, 'contacts_by_phone', { keys: [work.stored.from] })
    const [contact] = await data.getMany(rows.slice(0, 1).map(({ id }) => id))
    if (typeof contact?.name !== 'string') return false
    work.set({ sent_by: contact.name })
    return true
  },
}
