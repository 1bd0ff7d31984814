/** One document and the index of all documents must be judged alike: the rules are written twice, here they meet. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { replicationKeys } from '../../../../src/app/offline-users/replication-keys.ts'
import { HIERARCHY, startApplication, type TestApplication } from '../../../support/application.ts'
import { INSIDE, OUTSIDE } from '../../../support/offline-area.ts'

type Doc = Record<string, unknown>

const SEED = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000)
let state = SEED
function below(limit: number): number {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0
  return Math.floor((state / 4294967296) * limit)
}
const pick = <T>(...values: T[]): T => values[below(values.length)] as T

const link = (): unknown =>
  pick<unknown>(
    undefined,
    null,
    'plain-id',
    {},
    { _id: '' },
    { _id: 'a' },
    { _id: 'a', parent: { _id: 'b', parent: { _id: 'c' } } },
  )
const code = (): unknown => pick<unknown>(undefined, '', 'p1', 'p2', 0, 17)

function strangeDocument(index: number): Doc {
  const document: Doc = {
    _id: pick(`d${index}`, `task~${index}`, `form:x${index}`),
    type: pick(
      'data_record',
      'data_record',
      'data_record',
      'person',
      'contact',
      'task',
      'target',
      'form',
      'feedback',
      undefined,
    ),
    form: pick(undefined, '', 'visit', 'visit'),
    user: pick(undefined, 'org.svc.user:x'),
    owner: pick(undefined, 'a'),
    contact: link(),
    patient_id: code(),
    place_id: code(),
    sms_message: pick(undefined, { message: 'x' }),
    errors: pick<unknown>(
      undefined,
      [],
      [{ code: 'registration_not_found' }],
      [{ code: 'other' }, { code: 'invalid_patient_id' }],
    ),
    tasks: pick<unknown>(
      undefined,
      [],
      [{}],
      [{ messages: [] }],
      [{ messages: [{ contact: link() }] }],
    ),
    fields: pick<unknown>(
      undefined,
      {},
      {
        patient_id: code(),
        place_id: code(),
        patient_uuid: code(),
        private: pick<unknown>(undefined, true, false, 'true'),
        needs_signoff: pick<unknown>(undefined, true, false),
      },
    ),
  }
  return Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined))
}

let app: TestApplication
before(async () => {
  app = await startApplication()
})
after(() => app.close())

describe('replication keys', () => {
  it(`are those of the index, for any document (seed ${SEED})`, async () => {
    const documents = new Map<string, Doc>()
    for (const document of [...HIERARCHY, ...INSIDE, ...OUTSIDE])
      documents.set(document._id as string, document)
    for (let index = 0; index < 500; index++) {
      const document = strangeDocument(index)
      documents.set(document._id as string, document)
    }
    await app.store(...documents.values())
    const { json } = await app.ask('GET', '/svc/_design/svc/_view/docs_by_replication_key')
    const rows = (json as { rows: { id: string; key: unknown; value: Doc }[] }).rows
    const indexed = new Map<string, string[]>()
    for (const { id, key, value } of rows) {
      // Nobody's subject.
      if (key === null) continue
      const { needs_signoff: _, ...facts } = value
      indexed.set(id, [...(indexed.get(id) ?? []), JSON.stringify([key, facts])].sort())
    }
    for (const [id, document] of documents) {
      const { keys, facts } = replicationKeys(id, document)
      const expected = keys.map(key => JSON.stringify([key, facts])).sort()
      assert.deepEqual(indexed.get(id) ?? [], expected, JSON.stringify(document))
    }
  })
})
