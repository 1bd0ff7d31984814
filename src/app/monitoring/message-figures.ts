/**
 * Outgoing messages counted: by what became of them, over all time and over the last seven days; and the latest hundred
 * of each kind by their states. `due` has every message that is neither scheduled nor stopped, so also those that were
 * sent: dashboards were made for that.
 */
import type { DocumentDatabase } from '../documents/document-database.ts'
import { countByFirst, countRows } from './count-rows.ts'
import { FAILED_NUMBER, type MetricReader } from './metric.ts'

const queueOf = ({ name }: DocumentDatabase) => ({
  design: `${name}-admin`,
  view: 'message_queue',
})

const FATES = ['due', 'scheduled', 'muted', 'delivered', 'failed'] as const
type Counts = Readonly<Record<string, number>>

/** States that are always told, by group. Others that occur are told beside them. */
const GROUPS = {
  pending: ['pending', 'forwarded-to-gateway', 'received-by-gateway', 'forwarded-by-gateway'],
  final: ['sent', 'delivered', 'failed'],
  muted: ['denied', 'cleared', 'muted', 'duplicate'],
} as const

const LATEST = 'messages_by_last_updated_state'
const LATEST_COUNT = 100
const DAYS = 7

export interface OutgoingV2 {
  readonly total: Counts
  readonly seven_days: Counts
  readonly last_hundred: Readonly<Record<string, Counts>>
}

export async function readOutgoing(
  data: DocumentDatabase,
  metrics: MetricReader,
  nowMs: number,
): Promise<OutgoingV2> {
  const [total, recent, ...groups] = await Promise.all([
    readTotals(data, metrics),
    readRecent(data, metrics, nowMs),
    ...Object.keys(GROUPS).map(group => readLatest(data, metrics, { group, nowMs })),
  ])
  const named = Object.keys(GROUPS).map((group, index) => [group, groups[index] as Counts])
  return { total, seven_days: recent, last_hundred: Object.fromEntries(named) }
}

export const readTotals = (data: DocumentDatabase, metrics: MetricReader): Promise<Counts> =>
  metrics.read('messages', filled(FATES, FAILED_NUMBER), async signal => {
    const counts = await countByFirst(data, queueOf(data), signal)
    return Object.fromEntries(FATES.map(fate => [fate, counts.get(fate) ?? 0]))
  })

async function readRecent(
  data: DocumentDatabase,
  metrics: MetricReader,
  nowMs: number,
): Promise<Counts> {
  const sinceMs = midnightBefore(nowMs, DAYS)
  const counts = FATES.map(async fate => {
    const range = { startKey: [fate, sinceMs], endKey: [fate, nowMs] }
    const count = await metrics.number(`recent messages ${fate}`, signal =>
      countRows(data, { ...queueOf(data), ...range }, signal),
    )
    return [fate, count] as const
  })
  return Object.fromEntries(await Promise.all(counts))
}

/** Local time: so operators know days. */
function midnightBefore(nowMs: number, days: number): number {
  const day = new Date(nowMs)
  day.setHours(0, 0, 0, 0)
  return day.setDate(day.getDate() - days)
}

const readLatest = (
  data: DocumentDatabase,
  metrics: MetricReader,
  { group, nowMs }: { readonly group: string; readonly nowMs: number },
): Promise<Counts> => {
  const states = GROUPS[group as keyof typeof GROUPS]
  return metrics.read(`latest messages ${group}`, filled(states, FAILED_NUMBER), async signal => {
    const counts: Record<string, number> = { ...filled(states, 0) }
    const query = {
      reduce: false,
      descending: true,
      // Whatever state a message of this moment is in.
      startKey: [group, nowMs, {}],
      endKey: [group],
      limit: LATEST_COUNT,
    }
    for await (const rows of data.rows(`${data.name}-sms`, LATEST, query, signal)) {
      for (const { key } of rows) {
        const state = String((key as unknown[])[2])
        counts[state] = (counts[state] ?? 0) + 1
      }
    }
    return counts
  })
}

const filled = (names: readonly string[], value: number): Counts =>
  Object.fromEntries(names.map(name => [name, value]))
