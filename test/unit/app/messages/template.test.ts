/** Texts with places to fill in, and dates in them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatDate } from '../../../../src/app/messages/format-date.ts'
import { renderTemplate } from '../../../../src/app/messages/template.ts'

describe('renderTemplate', () => {
  const context = {
    name: 'Ada',
    age: 0,
    place: { name: 'Home' },
    list: [{ n: 1 }, { n: 2 }],
    no: '',
  }
  const cases = [
    ['Hi {{name}}!', 'Hi Ada!'],
    ['{{ place.name }} {{{name}}} {{&name}}', 'Home Ada Ada'],
    ['{{age}} {{missing}}{{place.missing.more}}|', '0 |'],
    ['{{#list}}{{n}}{{name}},{{/list}}', '1Ada,2Ada,'],
    ['{{#place}}{{name}}{{/place}}', 'Home'],
    ['{{#no}}x{{/no}}{{^no}}y{{/no}}{{^name}}z{{/name}}', 'y'],
    ['{{! a comment }}{{>partial}}', ''],
    ['{{#list}}{{#place}}{{n}}{{/place}}{{/list}}', '12'],
    ['{{#name}}open', 'open'],
    ['{{/name}}closed', 'closed'],
    ['{{name', '{{name'],
    ['<b>{{amp}}</b>', '<b>a&b</b>'],
    ['{{constructor}}{{name.length}}', ''],
    ['{{place}}', '{"name":"Home"}'],
  ] as const
  for (const [template, text] of cases) {
    it(`of ${template}`, () => {
      assert.equal(renderTemplate(template, { ...context, amp: 'a&b' }), text)
    })
  }

  it('calls functions for sections, and takes variables of the same name', () => {
    const functions = {
      loud: (text: string, render: (t: string) => string) => render(text).toUpperCase(),
    }
    const template = '{{#loud}}{{name}} {{loud}}{{/loud}}'
    assert.equal(renderTemplate(template, { name: 'ada', loud: 'x' }, functions), 'ADA X')
  })

  it('is bounded', () => {
    const list = Array.from({ length: 1000 }, () => 'x')
    const nested = '{{#list}}{{#list}}{{#list}}abc{{/list}}{{/list}}{{/list}}'
    assert.ok(renderTemplate(nested, { list }).length < 200_000)
  })
})

describe('formatDate', () => {
  const ms = Date.UTC(2024, 1, 3, 14, 5, 6, 7)
  const cases = [
    ['DD-MMM-YYYY HH:mm:ss', '03-Feb-2024 14:05:06'],
    ['D/M/YY h:m:s a', '3/2/24 2:5:6 pm'],
    ['dddd, MMMM Do', 'Saturday, February 3rd'],
    ['ddd hh A SSS [at] ZZ', 'Sat 02 PM 007 at +0000'],
    ['DDDD X x', `034 ${ms / 1000 - 0.007} ${ms}`],
  ] as const
  for (const [pattern, text] of cases) {
    it(pattern, () => assert.equal(formatDate(ms, { pattern, offsetMinutes: 0 }), text))
  }

  it('knows time zones and languages', () => {
    const pattern = 'D MMMM HH:mm Z'
    assert.equal(
      formatDate(ms, { pattern, locale: 'fr', offsetMinutes: -630 }),
      '3 février 03:35 -10:30',
    )
    assert.equal(
      formatDate(ms, { pattern, locale: 'x-!', offsetMinutes: 0 }),
      '3 February 14:05 +00:00',
    )
    assert.equal(formatDate(Number.NaN, { pattern }), '')
  })
})
