/** How deep somebody's roles let him see, from settings as people write them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { replicationDepth } from '../../../../src/app/offline-users/replication-depth.ts'
import { settingsOf } from '../../../../src/app/settings/settings.ts'

const depthOf = (entries: unknown, ...roles: string[]) =>
  replicationDepth(roles, settingsOf({ replication_depth: entries }))

const UNLIMITED = { contacts: Infinity, reports: Infinity, primaryContacts: false }

describe('replication depth', () => {
  it('is unlimited without an entry that counts', () => {
    const cases: unknown[] = [undefined, 'x', {}, [], [null, 5], [{ role: 'other', depth: 1 }]]
    cases.push([{ role: 'a' }], [{ role: 'a', depth: 'deep' }], [{ role: 'a', depth: 1.5 }])
    for (const entries of cases) assert.deepEqual(depthOf(entries, 'a'), UNLIMITED)
  })

  it('is that of the deepest entry, the first of each role', () => {
    const entries = [
      { role: 'a', depth: 1, report_depth: 9 },
      { role: 'a', depth: 7 },
      { role: 'b', depth: '2', report_depth: '0', replicate_primary_contacts: true },
    ]
    assert.deepEqual(depthOf(entries, 'a'), { contacts: 1, reports: 9, primaryContacts: false })
    const deepest = { contacts: 2, reports: 0, primaryContacts: true }
    assert.deepEqual(depthOf(entries, 'a', 'b'), deepest)
    assert.deepEqual(depthOf(entries, 'b', 'a'), deepest)
  })

  it('combines entries of equal depth', () => {
    const entries = [
      { role: 'a', depth: 1, report_depth: 0, replicate_primary_contacts: true },
      { role: 'b', depth: 1, report_depth: 1 },
      { role: 'c', depth: 1 },
    ]
    assert.deepEqual(depthOf(entries, 'a', 'b'), { contacts: 1, reports: 1, primaryContacts: true })
    assert.deepEqual(depthOf(entries, 'b', 'c'), {
      contacts: 1,
      reports: Infinity,
      primaryContacts: false,
    })
  })
})
