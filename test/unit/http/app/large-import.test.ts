/** Tables of users that are large, or longer than any table may be. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ROWS_MAX } from '../../../../src/app/users/import-users.ts'
import { startApplication, type TestApplication } from '../../../support/application.ts'

type Json = Record<string, unknown>

const PASSWORD = 'Secret1.x9'
const COUNT = 50_000

let app: TestApplication
before(async () => {
  app = await startApplication()
})
after(() => app.close())

async function send(text: string): Promise<{ status: number; results: Json[] }> {
  const headers = { 'Content-Type': 'text/csv; charset=utf-8' }
  const { status, json } = await app.ask('POST', '/api/v2/users', { body: text, headers })
  return { status, results: json as Json[] }
}

async function newestLog(): Promise<Json> {
  const range = 'startkey="bulk-user-upload-z"&descending=true&limit=1&include_docs=true'
  const { rows } = (await app.ask('GET', `/svc-logs/_all_docs?${range}`)).json as {
    rows: { doc: Json }[]
  }
  return rows[0]?.doc as Json
}

describe(`a table of ${COUNT} users`, () => {
  it('has a result for every row, in order, and makes those that can be made', async () => {
    const makes = new Set([0, 1, COUNT / 2, COUNT - 1])
    const rows = Array.from({ length: COUNT }, (_, index) =>
      makes.has(index) ? `big-${index},${PASSWORD},analytics,"Name, ${index}"` : `big-${index},,,`,
    )
    const { status, results } = await send(
      ['\uFEFFusername,password,type,fullname', ...rows].join('\r\n'),
    )
    assert.equal(status, 200)
    assert.equal(results.length, COUNT)
    for (const [index, result] of results.entries()) {
      if (makes.has(index)) {
        assert.equal(
          (result.user as Json | undefined)?.id,
          `org.svc.user:big-${index}`,
          JSON.stringify(result),
        )
        const settings = (await app.ask('GET', `/svc/org.svc.user:big-${index}`)).json as Json
        assert.equal(settings.fullname, `Name, ${index}`)
      } else {
        assert.equal(result.error, 'Missing required fields: password, type or roles')
      }
    }
  })

  it('has a log that holds as much as a document may', async () => {
    const log = await newestLog()
    const progress = log.progress as { status: string; parsing: Json; saving: Json }
    assert.equal(progress.status, 'finished')
    assert.equal(progress.parsing.total, COUNT)
    const { total, failed, successful } = progress.saving
    assert.deepEqual([total, failed, successful], [COUNT, COUNT - 4, 4])
    assert.ok(JSON.stringify(log).length < 8_000_000)
    assert.equal(log.data_is_cut, true)
  })

  it('of whom all were dealt with before has no results', async () => {
    const rows = Array.from({ length: COUNT }, (_, index) => `done-${index},imported`)
    const { status, results } = await send(['username,import.status:excluded', ...rows].join('\n'))
    assert.deepEqual([status, results], [200, []])
  })
})

describe('a table without an end', () => {
  it('is left at the last row that is taken, and says so', async () => {
    const rows = Array.from({ length: ROWS_MAX + 5 }, (_, index) => `n${index},skipped`)
    const { status, results } = await send(['username,import.status:excluded', ...rows].join('\n'))
    const error = `Only ${ROWS_MAX} users can be made at once; what follows was left out.`
    assert.deepEqual([status, results], [200, [{ error }]])
    const { saving } = (await newestLog()).progress as { saving: Json }
    assert.equal(saving.ignored, ROWS_MAX)
  })
})
