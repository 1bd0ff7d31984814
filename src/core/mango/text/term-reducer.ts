/**
 * Sums up rows of the terms of a text index: how many there are, and the first numbers of their values together. Over the
 * rows of a term that is in how many documents it is; over those of a field how many documents have it and how long it
 * is in all of them.
 */
import type { ReduceJob, Reducer } from '../../indexing/reducer.ts'

export interface TermSum {
  readonly count: number
  readonly sum: number
}

export const TERM_REDUCER: Reducer = {
  name: 'text-terms-1',
  reduce: jobs => jobs.map(job => Buffer.from(sumText(job))),
}

export function readTermSum(reduction: Buffer | undefined): TermSum {
  if (reduction === undefined) return { count: 0, sum: 0 }
  const [count = 0, sum = 0] = reduction.toString('latin1').split(' ').map(Number)
  return { count, sum }
}

function sumText(job: ReduceJob): string {
  let count = 0
  let sum = 0
  if ('rows' in job) {
    const { block, from, to } = job.rows
    count = to - from
    for (let row = from; row < to; row++) sum += firstNumber(block.bytes, block.valueStart(row))
  } else {
    for (const reduction of job.reductions) {
      const part = readTermSum(reduction)
      count += part.count
      sum += part.sum
    }
  }
  return `${count} ${sum}`
}

/** Of a value `[12,…]`. */
function firstNumber(bytes: Buffer, start: number): number {
  let number = 0
  for (let at = start + 1; ; at++) {
    const digit = (bytes[at] as number) - 0x30
    if (digit < 0 || digit > 9) return number
    number = number * 10 + digit
  }
}
