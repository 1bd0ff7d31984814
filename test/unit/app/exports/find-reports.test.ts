/** Whichever way reports are found, they are the same ones in the same order. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { ApplicationContext } from '../../../../src/app/application-context.ts'
import { findReports } from '../../../../src/app/exports/find-reports.ts'
import { parseReportFilters } from '../../../../src/app/exports/report-filters.ts'
import { startApplication, type TestApplication } from '../../../support/application.ts'

const COUNT = 120
let application: TestApplication
let context: ApplicationContext

before(async () => {
  application = await startApplication()
  const reports = Array.from({ length: COUNT }, (_, at) => ({
    _id: `r-${String(at).padStart(3, '0')}`,
    type: 'data_record',
    form: at % 2 === 0 ? 'even' : 'odd',
    reported_date: 1000 + ((at * 37) % COUNT),
    verified: at % 5 === 0 ? true : undefined,
    errors: at % 7 === 0 ? [{ code: 'x' }] : [],
    contact: { _id: 'c', parent: { _id: `place-${at % 3}`, parent: { _id: 'top' } } },
    fields: { patient_id: `p-${at % 10}`, note: `${at % 4 === 0 ? 'fever' : 'healthy'} child` },
  }))
  await application.store(...reports)
  assert.ok(application.server.application)
  context = await application.server.application.context()
})
after(() => application.close())

async function idsOf(filters: object, candidatesMax: number, batchCount: number) {
  const parsed = parseReportFilters({ ...filters }, 5000)
  const ids: string[] = []
  const dates: number[] = []
  for await (const reports of findReports(context, parsed, { batchCount, candidatesMax })) {
    assert.ok(reports.length <= batchCount)
    for (const { _id, reported_date: date } of reports) {
      ids.push(_id)
      dates.push(Number(date))
    }
  }
  assert.deepEqual(
    dates,
    [...dates].sort((a, b) => b - a),
  )
  return ids
}

const FILTERS: readonly (readonly [object, number])[] = [
  [{}, COUNT],
  [{ forms: { selected: [{ code: 'odd' }] } }, 60],
  [{ date: { from: 1010, to: 1019 } }, 10],
  [{ verified: [true] }, 24],
  [{ valid: false }, 18],
  [{ facilities: { selected: ['place-1'] } }, 40],
  [{ facilities: { selected: ['top'] } }, COUNT],
  [{ subjectIds: ['p-3', 'p-4'] }, 24],
  [{ search: 'fev' }, 30],
  [{ search: 'chi fever' }, 30],
  [{ search: 'fever', forms: { selected: [{ code: 'odd' }] } }, 0],
  [{ search: 'healthy', subjectIds: ['p-3'], facilities: { selected: ['place-0'] } }, 4],
]

describe('reports', () => {
  for (const [filters, count] of FILTERS) {
    it(`with ${JSON.stringify(filters)}`, async () => {
      const byIndex = await idsOf(filters, 1000, 7)
      assert.equal(byIndex.length, count)
      assert.equal(new Set(byIndex).size, count)
      assert.deepEqual(await idsOf(filters, 0, 50), byIndex)
    })
  }
})
