/** The small pure rules of the application. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { passwordWeakness } from '../../../../src/app/access/password-strength.ts'
import { isOfflineRoleSet } from '../../../../src/app/access/permissions.ts'
import { chainOf, minify } from '../../../../src/app/contacts/lineage.ts'
import { normalizePhone } from '../../../../src/app/contacts/phone-number.ts'
import { parseTimestamp } from '../../../../src/app/documents/timestamp.ts'
import { DEFAULT_SETTINGS } from '../../../../src/app/settings/default-settings.ts'
import { settingsOf } from '../../../../src/app/settings/settings.ts'
import { canonicalTarget } from '../../../../src/base/product-names.ts'
import { isApplicationTarget } from '../../../../src/http/app/app-target.ts'

describe('lineage', () => {
  it('is stored as ids', () => {
    const whole = {
      _id: 'a',
      type: 'data_record',
      parent: { _id: 'b', name: 'B', parent: { _id: 'c', parent: { name: 'no id' } } },
      contact: { _id: 'd', name: 'D', parent: { _id: 'e', name: 'E' } },
      patient: { _id: 'p' },
      place: { _id: 'q' },
      linked_docs: { x: { _id: 'l', name: 'L' }, y: 'm' },
      kept: { _id: 'z', name: 'Z' },
    }
    assert.deepEqual(minify(whole), {
      _id: 'a',
      type: 'data_record',
      parent: { _id: 'b', parent: { _id: 'c' } },
      contact: { _id: 'd', parent: { _id: 'e' } },
      linked_docs: { x: 'l', y: 'm' },
      kept: { _id: 'z', name: 'Z' },
    })
    assert.deepEqual(minify({ type: 'person', place: 1, parent: {}, contact: 'x' }), {
      type: 'person',
      place: 1,
      contact: 'x',
    })
  })

  it('that goes round in circles is refused', () => {
    const circle: Record<string, unknown> = { _id: 'a' }
    circle.parent = circle
    assert.throws(() => chainOf(circle, 'a'), {
      detail: { reason: 'Could not minify a, possible parent recursion.' },
    })
  })
})

describe('timestamps', () => {
  it('are ISO texts with a zone, or milliseconds', () => {
    const rows: [unknown, number | undefined][] = [
      ['2020-01-02T03:04:05Z', Date.UTC(2020, 0, 2, 3, 4, 5)],
      ['2020-01-02T03:04:05.678Z', Date.UTC(2020, 0, 2, 3, 4, 5, 678)],
      ['2020-01-02T03:04:05-03', Date.UTC(2020, 0, 2, 6, 4, 5)],
      ['2020-01-02T03:04:05+1245', Date.UTC(2020, 0, 1, 14, 19, 5)],
      ['2020-01-02T03:04:05+05:30', Date.UTC(2020, 0, 1, 21, 34, 5)],
      [1234, 1234],
      ['1234', 1234],
      [0, 0],
      ['2020-01-02', undefined],
      ['2020-01-02T03:04:05', undefined],
      ['2020-13-02T03:04:05Z', undefined],
      ['2021-02-29T03:04:05Z', undefined],
      ['2020-01-02T25:04:05Z', undefined],
      [1.5, undefined],
      ['x', undefined],
      [null, undefined],
      [{}, undefined],
    ]
    for (const [given, expected] of rows)
      assert.equal(parseTimestamp(given), expected, String(given))
  })
})

describe('phone numbers', () => {
  it('become E.164', () => {
    const kenya = settingsOf({ default_country_code: 254 })
    const rows: [string, string | undefined][] = [
      ['+254 712 345-678', '+254712345678'],
      ['00254712345678', '+254712345678'],
      ['0712345678', '+254712345678'],
      ['712345678', '+254712345678'],
      ['254712345678', '+254712345678'],
      [' 254712345678', '+254712345678'],
      ['21222', '21222'],
      ['+0712345678', undefined],
      ['+1234567890123456', undefined],
      ['07123abc', undefined],
      ['', undefined],
      ['+', undefined],
      ['-', undefined],
    ]
    for (const [given, expected] of rows)
      assert.equal(normalizePhone(given, kenya), expected, given)
    const anything = settingsOf({ default_country_code: '+254', phone_validation: 'none' })
    assert.equal(normalizePhone('+0000', anything), '+0000')
  })
})

describe('passwords', () => {
  it('must be long and varied', () => {
    assert.equal(passwordWeakness('Sh0r.t'), 'short')
    assert.equal(passwordWeakness('password'), 'weak')
    assert.equal(passwordWeakness('aB3defgh'), undefined)
    assert.equal(passwordWeakness('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'), undefined)
  })
})

describe('sets of roles', () => {
  it('are offline when none is known or one says so', () => {
    const settings = settingsOf(DEFAULT_SETTINGS)
    const rows: [string[], boolean][] = [
      [['chw'], true],
      [['program_officer'], false],
      [['program_officer', 'chw'], true],
      [['unknown'], true],
      [['unknown', 'program_officer'], false],
      [['_admin', 'chw'], false],
      [['constructor'], true],
    ]
    for (const [roles, offline] of rows) assert.equal(isOfflineRoleSet(roles, settings), offline)
  })
})

describe('names of the product', () => {
  it('in targets are ours or the other', () => {
    const rows: [string, string][] = [
      ['/medic', '/svc'],
      ['/medic/doc?a=medic', '/svc/doc?a=medic'],
      ['/medic/_design/medic-client/_view/x', '/svc/_design/svc-client/_view/x'],
      ['/svc/_design%2Fmedic', '/svc/_design%2Fsvc'],
      ['/medic/medic', '/svc/medic'],
      ['/medic-user-ann-meta/x', '/svc-user-ann-meta/x'],
      ['/medic-sentinel?x', '/svc-sentinel?x'],
      ['/medicine', '/medicine'],
      ['/medic-own', '/medic-own'],
      ['/other/_design/medic/_view/x', '/other/_design/medic/_view/x'],
      [
        '/medic/_design/medic/_rewrite/update_settings/medic?replace=1',
        '/svc/_design/svc/_rewrite/update_settings/svc?replace=1',
      ],
    ]
    for (const [given, expected] of rows) assert.equal(canonicalTarget(given), expected)
  })

  it('tell what is for the application', () => {
    const own = [
      '/api',
      '/api/v1/x',
      '//api//v1',
      '/api?x',
      '/svc/login',
      '/svc/login/token/x',
      '/svc/password-reset',
      '/svc/_design/svc/_rewrite/app_settings/svc',
    ]
    const others = [
      '/',
      '/apiary',
      '/db/api',
      '/svc/logins',
      '/svc/x',
      '/svc/_design/svc/_rewrite/x',
      '/svc/_design/svc',
    ]
    for (const target of own) assert.equal(isApplicationTarget(target), true, target)
    for (const target of others) assert.equal(isApplicationTarget(target), false, target)
  })
})
