/** Cells that stay one cell, and are no formula. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserOf } from '../../../../src/app/exports/browser-name.ts'
import { csvHeading, csvLines } from '../../../../src/app/exports/csv.ts'
import {
  contactHasWords,
  parseSearch,
  reportHasWords,
} from '../../../../src/app/exports/search-words.ts'

describe('lines', () => {
  it('have texts in quotes, everything else bare', () => {
    assert.equal(csvLines([]), '')
    assert.equal(
      csvLines([['a', 1, true, false, null, undefined, '', 0]]),
      '"a",1,true,false,,,"",0\n',
    )
    assert.equal(csvLines([[[1], { a: 1 }, []]]), '"[1]","{\\"a\\":1}","[]"\n')
  })

  it('keep a cell one cell', () => {
    assert.equal(csvLines([['a"b', 'c,d', 'e\nf', 'g\\']]), '"a\\"b","c,d","e\nf","g\\\\"\n')
    assert.equal(csvLines([['a;b', 'c']], ';'), '"a;b";"c"\n')
  })

  it('have no formulas', () => {
    const dangerous = ['=1+1', '+cmd|x', '-2+3=', '@SUM(A1)', '\t=1', '\r=1', '＝1']
    for (const text of dangerous) assert.equal(csvLines([[text]]), `"'${text}"\n`)
    const harmless = ['+254 700-000', '-12.5', '+', 'a=b', '(02) 1']
    for (const text of harmless) assert.equal(csvLines([[text]]), `"${text}"\n`)
    assert.equal(csvLines([[-5]]), '-5\n')
  })

  it('have headings that are bare where they can be', () => {
    assert.equal(csvHeading(['_id', 'a.b', 'with space']), '_id,a.b,with space\n')
    assert.equal(csvHeading(['a,b', '=x', 'q"']), '"a,b",\'=x,"q\\""\n')
  })
})

describe('words', () => {
  const report = {
    _id: 'secretid',
    type: 'data_record',
    form: 'Visit',
    reported_date: 'monday',
    content: 'hidden',
    contact: { _id: 'Nurse' },
    fields: { note: 'Fever since', count: 125, last_date: 'tuesday', digits: '०१२३' },
  }
  const has = (search: string) => reportHasWords(report, parseSearch(search))

  it('are found by their beginnings, pairs by the whole', () => {
    for (const found of [
      'fev',
      'FEVER since',
      'form:visit',
      'count:125',
      'contact:nurse',
      '0123',
      'vis',
    ]) {
      assert.equal(has(found), true, found)
    }
    for (const not of [
      'ever',
      'form:vis',
      'count:12',
      'monday',
      'tuesday',
      'hidden',
      'secretid',
      'data_record',
    ]) {
      assert.equal(has(not), false, not)
    }
    assert.equal(has('fever nothing'), false)
    assert.equal(has('xy'), true)
  })

  it('of contacts are not those of where they are', () => {
    const contact = { name: 'Zoë Smith', geolocation: 'there', phone: '+254700' }
    assert.equal(contactHasWords(contact, parseSearch('smi ZOË')), true)
    assert.equal(contactHasWords(contact, parseSearch('phone:+254700')), true)
    assert.equal(contactHasWords(contact, parseSearch('there')), false)
  })
})

describe('browsers', () => {
  const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)'
  const cases = [
    [
      `Mozilla/5.0 (Linux; Android 13) ${webkit} Chrome/118.0.0.1 Mobile Safari/537.36`,
      'Chrome',
      '118.0.0.1',
    ],
    [`Mozilla/5.0 (Windows) ${webkit} Chrome/118.0.0.1 Safari/537.36 Edg/118.2`, 'Edge', '118.2'],
    [`Mozilla/5.0 ${webkit} Chrome/90.0 Safari/537.36 OPR/76.1`, 'Opera', '76.1'],
    ['Mozilla/5.0 (X11; Linux) Gecko/20100101 Firefox/115.0', 'Firefox', '115.0'],
    [
      'Mozilla/5.0 (Mac) AppleWebKit/605.1 (KHTML, like Gecko) Version/17.1 Safari/605.1',
      'Safari',
      '17.1',
    ],
  ] as const
  for (const [agent, name, version] of cases) {
    it(name, () => assert.deepEqual(browserOf(agent), { name, version }))
  }

  it('nobody knows', () => {
    for (const agent of [undefined, 7, '', 'curl/8']) assert.deepEqual(browserOf(agent), {})
  })
})
