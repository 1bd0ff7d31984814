/**
 * The reduce functions that have a name and no source. Names match by their beginning, as in
 * CouchDB; a name that begins with `_` and is none of these cannot be in a design document.
 */
import type { Collator } from '../../base/collate/collator.ts'
import { Failure } from '../../base/errors.ts'
import type { ReduceJob } from '../indexing/reducer.ts'
import { distinctReducer } from './distinct-reducer.ts'
import { edgeReducer, rankReducer } from './ranked-reducers.ts'
import { statsReducer } from './stats-reducer.ts'
import { sumReducer } from './sum-reducer.ts'
import type { ViewReducer } from './view-reducer.ts'

export const isBuiltinName = (source: string): boolean => source.startsWith('_')

/** `isLimited`: results of `_sum` that hardly shrink become errors (reduce_limit). */
export function builtinReducer(
  source: string,
  collator: Collator,
  isLimited: boolean,
): ViewReducer {
  if (source.startsWith('_approx_count_distinct')) return distinctReducer
  if (source.startsWith('_sum')) return sumReducer(isLimited)
  if (source.startsWith('_count')) return countReducer
  if (source.startsWith('_stats')) return statsReducer
  if (source.startsWith('_first')) return edgeReducer('first')
  if (source.startsWith('_last')) return edgeReducer('last')
  if (source.startsWith('_top_')) return rankReducer('top', rankOf(source.slice(5)), collator)
  if (source.startsWith('_bottom_')) return rankReducer('bottom', rankOf(source.slice(8)), collator)
  throw invalid(`\`${source}\` is not a supported reduce function.`)
}

const countReducer: ViewReducer = {
  name: '_count',
  reduce: jobs => jobs.map(job => Buffer.from(String(countOf(job)))),
  present: reduction => ({ valueText: reduction }),
}

const countOf = (job: ReduceJob): number =>
  'rows' in job
    ? job.rows.to - job.rows.from
    : job.reductions.reduce((sum, one) => sum + Number(one.toString('latin1')), 0)

function rankOf(text: string): number {
  if (!/^[0-9]+$/.test(text)) throw invalid('invalid rank reducer')
  const rank = Number(text)
  if (rank < 1 || rank > RANK_MAX) throw invalid(`rank value must be between 1 and ${RANK_MAX}`)
  return rank
}

const invalid = (reason: string): Failure => new Failure('design_document_invalid', { reason })

const RANK_MAX = 100
