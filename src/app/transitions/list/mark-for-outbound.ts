/** Finds the pushes to other systems that a document is for, and queues them; `outbound/` makes them. */
import { outboundPushes } from '../../outbound/outbound-settings.ts'
import type { Transition } from '../transition.ts'

export const markForOutbound: Transition = {
  name: 'mark_for_outbound',
  runsOnArrival: false,
  repeats: true,
  isFor: ({ desk, stored }) =>
    typeof stored.type === 'string' && outboundPushes(desk.settings).length > 0,
  async run(work) {
    const pushes = outboundPushes(work.desk.settings)
    const values = await work.desk.expressions.values(
      pushes.map(({ relevantTo }) => ({ source: relevantTo, names: { doc: work.whole } })),
    )
    const names = pushes.filter((_, index) => Boolean(values[index])).map(({ name }) => name)
    if (names.length === 0) return false
    work.desk.push(work.id, names)
    return true
  },
}
