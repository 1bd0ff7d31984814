/** Rows and a reducer for tests of indexes below the views. */
import type { EmittedRow } from '../../src/core/indexing/index-rows.ts'
import type { Reducer } from '../../src/core/indexing/reducer.ts'

export const emittedRow = (key: unknown, value: unknown = null): EmittedRow => ({
  keyText: Buffer.from(JSON.stringify(key)),
  valueText: Buffer.from(JSON.stringify(value)),
})

/** Counts rows, in decimal digits. */
export const counter: Reducer = {
  name: 'count',
  reduce: jobs =>
    jobs.map(job => {
      const count =
        'rows' in job
          ? job.rows.to - job.rows.from
          : job.reductions.reduce((sum, one) => sum + Number(one), 0)
      return Buffer.from(String(count))
    }),
}
