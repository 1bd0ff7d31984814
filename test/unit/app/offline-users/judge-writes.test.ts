/** Which documents of a batch somebody may write, where they depend on each other. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JudgedWrite, judgeWrites } from '../../../../src/app/offline-users/judge-writes.ts'
import { Scope } from '../../../../src/app/offline-users/scope.ts'

const user = {
  name: 'u',
  roles: ['chw'],
  contactId: 'me',
  facilityIds: ['home'],
  settingsIds: ['org.svc.user:u'],
  own: new Set(['home', 'me']),
}
const depth = { contacts: 2, reports: Infinity, primaryContacts: false }
const scope = new Scope(
  user,
  depth,
  new Map([
    ['_all', 0],
    ['home', 0],
    ['known', 1],
  ]),
)

const write = (id: string, body: object, more: Partial<JudgedWrite> = {}): JudgedWrite => ({
  id,
  isDesign: false,
  deleted: false,
  body: body as JudgedWrite['body'],
  stored: undefined,
  ...more,
})
const person = (id: string, parent: string, patient_id?: string) =>
  write(id, { type: 'person', parent: { _id: parent }, patient_id })
const about = (id: string, patient_id: string, more?: Partial<JudgedWrite>) =>
  write(id, { type: 'data_record', form: 'f', fields: { patient_id } }, more)
const refused = (...writes: JudgedWrite[]): number[] => [...judgeWrites(scope, writes)].sort()

describe('judging writes', () => {
  it('accepts what is about contacts that come along, in any order', () => {
    assert.deepEqual(refused(about('r', 'p9'), person('new', 'home', 'p9')), [])
    assert.deepEqual(refused(person('new', 'home', 'p9'), about('r', 'new')), [])
    assert.deepEqual(refused(about('r', 'p9')), [0])
  })

  it('takes those out that are refused', () => {
    // somebody known is moved away: what is about him goes with him
    assert.deepEqual(refused(person('known', 'elsewhere'), about('r', 'known')), [0, 1])
    assert.deepEqual(refused(about('r', 'known')), [])
  })

  it('looks at what is stored with what was known before', () => {
    const foreign = { type: 'data_record', form: 'f', fields: { patient_id: 'p9' } }
    const taken = about('r', 'p9', { stored: foreign })
    assert.deepEqual(refused(person('new', 'home', 'p9'), taken), [1])
    const own = { type: 'data_record', form: 'f', fields: { patient_id: 'known' } }
    assert.deepEqual(refused(about('r', 'known', { stored: own })), [])
  })

  it('lets bare tombstones end what is his, and nothing else', () => {
    const own = { type: 'person', parent: { _id: 'home' } }
    const foreign = { type: 'person', parent: { _id: 'elsewhere' } }
    assert.deepEqual(refused(write('a', {}, { deleted: true, stored: own })), [])
    assert.deepEqual(refused(write('a', {}, { deleted: true, stored: foreign })), [0])
    assert.deepEqual(refused(write('a', {}, { deleted: true })), [0])
    assert.deepEqual(refused(write('a', foreign, { deleted: true, stored: own })), [0])
  })

  it('never accepts design documents', () => {
    assert.deepEqual(refused(write('_design/svc-client', {}, { isDesign: true })), [0])
  })
})
