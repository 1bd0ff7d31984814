/**
 * `_top_N` and `_bottom_N`: the N greatest or least different values, by the order of keys,
 * greatest or least first; `_first` and `_last`: the value of the first or last row.
 */
import type { Collator } from '../../base/collate/collator.ts'
import type { ReduceJob } from '../indexing/reducer.ts'
import { valuesOf } from './sum-reducer.ts'
import type { ViewReducer } from './view-reducer.ts'

export const edgeReducer = (side: 'first' | 'last'): ViewReducer => ({
  name: `_${side}`,
  reduce: jobs => jobs.map(job => Buffer.from(edgeOf(job, side))),
  present: reduction => ({ valueText: reduction }),
})

function edgeOf(job: ReduceJob, side: 'first' | 'last'): Buffer {
  if ('reductions' in job)
    return job.reductions[side === 'first' ? 0 : job.reductions.length - 1] as Buffer
  const { block, from, to } = job.rows
  return block.valueText(side === 'first' ? from : to - 1)
}

/** A reduction is the JSON array that is the result. */
export const rankReducer = (
  side: 'top' | 'bottom',
  count: number,
  collator: Collator,
): ViewReducer => ({
  name: `_${side}_${count}`,
  reduce: jobs => jobs.map(job => Buffer.from(`[${rank(job, side, count, collator).join(',')}]`)),
  present: reduction => ({ valueText: reduction }),
})

function rank(job: ReduceJob, side: 'top' | 'bottom', count: number, collator: Collator): string[] {
  const sign = side === 'top' ? -1 : 1
  const best: { text: string; key: Buffer }[] = []
  for (const text of candidates(job)) {
    const key = collator.sortKey(text)
    let at = best.length
    while (at > 0 && sign * Buffer.compare(key, (best[at - 1] as { key: Buffer }).key) < 0) at--
    if (at > 0 && key.equals((best[at - 1] as { key: Buffer }).key)) continue
    if (at === count) continue
    best.splice(at, 0, { text, key })
    best.length = Math.min(best.length, count)
  }
  return best.map(({ text }) => text)
}

function* candidates(job: ReduceJob): Generator<string> {
  for (const text of valuesOf(job)) {
    if ('rows' in job) yield text.toString()
    else for (const one of JSON.parse(text.toString()) as unknown[]) yield JSON.stringify(one)
  }
}
