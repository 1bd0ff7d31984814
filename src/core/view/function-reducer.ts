/**
 * Reduce functions written in JavaScript. They run elsewhere: `RunReduce` is the port to whoever
 * runs them, and only text crosses it. Here is what stands around the call: its input, the check
 * that results shrink, and errors.
 *
 * Format of a reduction: 00 and the JSON text of the value, or 01 and the JSON text of an error,
 * which is what every larger range then sums up to.
 */
import type { ReduceJob } from '../indexing/reducer.ts'
import { overflowReason } from './sum-reducer.ts'
import type { ReducedValue, ViewReducer } from './view-reducer.ts'

/** One result for each call, in order. A function that throws gives null, not an error. */
export type RunReduce = (calls: readonly ReduceCall[]) => Promise<ReduceResult[]>

export interface ReduceCall {
  /** JSON: `[[key,id],…]`; undefined where reductions are reduced again. */
  readonly keysText: Buffer | undefined
  /** JSON: `[value,…]`. */
  readonly valuesText: Buffer
}

export type ReduceResult =
  | { readonly valueText: Buffer }
  | { readonly error: string; readonly reason: string }

export interface FunctionReducerOptions {
  /** Source and language: what makes this function another one. */
  readonly name: string
  readonly run: RunReduce
  /** What happens to a result that hardly shrinks. */
  readonly limit: 'enforce' | 'log' | 'off'
  readonly log?: (message: string) => void
}

export function functionReducer(options: FunctionReducerOptions): ViewReducer {
  return { name: options.name, reduce: jobs => reduceAll(options, jobs), present }
}

async function reduceAll(
  options: FunctionReducerOptions,
  jobs: readonly ReduceJob[],
): Promise<Buffer[]> {
  const results: Buffer[] = []
  const calls: ReduceCall[] = []
  const callers: number[] = []
  jobs.forEach((job, i) => {
    const failed = 'reductions' in job ? job.reductions.find(isError) : undefined
    if (failed !== undefined) {
      results[i] = failed
      return
    }
    calls.push('rows' in job ? rowCall(job) : rereduceCall(job))
    callers.push(i)
  })
  if (calls.length === 0) return results
  const answers = await options.run(calls)
  callers.forEach((job, i) => {
    results[job] = encode(checkSize(options, calls[i] as ReduceCall, answers[i] as ReduceResult))
  })
  return results
}

function rowCall({ rows: { block, from, to } }: Extract<ReduceJob, { rows: unknown }>): ReduceCall {
  const keys: Buffer[] = []
  const values: Buffer[] = []
  for (let row = from; row < to; row++) {
    keys.push(row === from ? OPEN_KEYS : NEXT_KEY, block.keyText(row), COMMA, block.idText(row))
    values.push(row === from ? OPEN : COMMA, block.valueText(row))
  }
  keys.push(CLOSE_KEYS)
  values.push(CLOSE)
  return { keysText: Buffer.concat(keys), valuesText: Buffer.concat(values) }
}

function rereduceCall({ reductions }: { readonly reductions: readonly Buffer[] }): ReduceCall {
  const parts = reductions.flatMap((one, i) => [i === 0 ? OPEN : COMMA, one.subarray(1)])
  return { keysText: undefined, valuesText: Buffer.concat([...parts, CLOSE]) }
}

function checkSize(
  options: FunctionReducerOptions,
  call: ReduceCall,
  result: ReduceResult,
): ReduceResult {
  if (options.limit === 'off' || 'error' in result) return result
  const input = (call.keysText?.length ?? 0) + call.valuesText.length
  const output = result.valueText.length
  if (output <= OVERFLOW_BYTES || output * 2 <= input) return result
  const reason = overflowReason(input, output)
  if (options.limit === 'enforce') return { error: 'reduce_overflow_error', reason }
  options.log?.(reason)
  return result
}

const isError = (reduction: Buffer): boolean => reduction[0] === 1

const encode = (result: ReduceResult): Buffer =>
  'error' in result
    ? Buffer.concat([Uint8Array.of(1), Buffer.from(JSON.stringify([result.error, result.reason]))])
    : Buffer.concat([Uint8Array.of(0), result.valueText])

function present(reduction: Buffer): ReducedValue {
  if (!isError(reduction)) return { valueText: reduction.subarray(1) }
  const [error, reason] = JSON.parse(reduction.toString('utf8', 1)) as [string, string]
  return { error, reason }
}

const OPEN_KEYS = Buffer.from('[[')
const NEXT_KEY = Buffer.from('],[')
const CLOSE_KEYS = Buffer.from(']]')
const OPEN = Buffer.from('[')
const CLOSE = Buffer.from(']')
const COMMA = Buffer.from(',')
/** CouchDB's own figure. */
const OVERFLOW_BYTES = 4096
