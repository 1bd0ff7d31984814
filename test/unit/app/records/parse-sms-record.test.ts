/** Messages of every format become values, by the rules that people in the field learned. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Translations } from '../../../../src/app/messages/translations.ts'
import { Labels } from '../../../../src/app/records/label-texts.ts'
import { parseSmsRecord } from '../../../../src/app/records/parse-sms-record.ts'
import { settingsOf } from '../../../../src/app/settings/settings.ts'

type Fields = Record<string, unknown>

const field = (type: string, tiny?: unknown, more: Fields = {}): Fields => ({
  type,
  ...(tiny === undefined ? {} : { labels: { tiny } }),
  ...more,
})

const FORMS = {
  YYYZ: {
    meta: { code: 'YYYZ' },
    fields: {
      nurse: field('string', 'nur'),
      week: field('integer', 'wk'),
      year: field('integer', 'yr'),
      visit: field('string', 'vis'),
    },
  },
  F: {
    meta: { code: 'F' },
    fields: { patient_id: field('string', 'pid'), notes: field('string', 'not') },
  },
}

function parse(message: string, forms: Fields = FORMS, more: Fields = {}) {
  const settings = settingsOf({ forms, default_country_code: 977, ...more })
  const translations = new Translations(
    new Map([['ne', { 'label.age': 'umer', 'month.one': 'Baisakh' }]]),
  )
  const { code, form, values, problems } = parseSmsRecord(message, {
    settings,
    labels: new Labels(translations, 'ne'),
  })
  return { code, isKnown: form !== undefined, values: Object.fromEntries(values), problems }
}

/** The values of one form with one field. */
const one = (type: string, message: string, more: Fields = {}): unknown =>
  parse(`1!X!${message}`, { X: { fields: { value: field(type, 'v', more) } } }).values.value

const ALL = { nurse: 'Sam', week: 23, year: 2015, visit: 'ANC' }

const EXAMPLES: readonly (readonly [message: string, code: string, values: Fields])[] = [
  ['1!YYYZ!Sam#23#2015#ANC', 'YYYZ', ALL],
  ['1!yyyz!Sam # 23#2015', 'YYYZ', { nurse: 'Sam', week: 23, year: 2015, visit: undefined }],
  ['1!YYYZ!a!b#1', 'YYYZ', { nurse: 'a!b', week: 1, year: undefined, visit: undefined }],
  [
    'J1!YYYZ!wk#23#NUR#Sam\\#1#vis#ANC',
    'YYYZ',
    { nurse: 'Sam#1', week: 23, year: undefined, visit: 'ANC' },
  ],
  [
    'A9!YYYZ!wk#23',
    'YYYZ',
    { nurse: undefined, week: undefined, year: undefined, visit: undefined },
  ],
  ['YYYZ nur Sam#wk 23#yr2015#vis ANC', 'YYYZ', ALL],
  ['yyyz NUR Sam # WK 23 # yr-2015', 'YYYZ', { nurse: 'Sam', week: 23, year: 2015 }],
  ['YYYZ Sam 23 2015 ANC first', 'YYYZ', { ...ALL, visit: 'ANC first' }],
  [
    'YYYZ "Sam Jones" 23 2015 "ANC visit"',
    'YYYZ',
    { ...ALL, nurse: 'Sam Jones', visit: 'ANC visit' },
  ],
  ['YYYZ Sam#23#2015#ANC', 'YYYZ', {}],
  ['F 12345 some notes here', 'F', { patient_id: '12345', notes: 'some notes here' }],
  ['F pid12345#not hello', 'F', { patient_id: '12345', notes: 'hello' }],
  ['F-12345-abc', 'F', { patient_id: '12345-abc' }],
]

describe('the formats of messages', () => {
  for (const [message, code, values] of EXAMPLES) {
    it(message, () => {
      const parsed = parse(message)
      assert.equal(parsed.code, code)
      assert.ok(parsed.isKnown)
      assert.deepEqual(parsed.values, values)
      assert.deepEqual(parsed.problems, [])
    })
  }

  it('tell that there were more values than fields', () => {
    const { values, problems } = parse('1!YYYZ!Sam#23#2015#ANC#x')
    assert.deepEqual(values, ALL)
    assert.deepEqual(problems, [{ code: 'extra_fields' }])
  })

  it('take the second of three pieces for the code', () => {
    assert.deepEqual(parse('F!12345!note'), {
      code: '12345',
      isKnown: false,
      values: {},
      problems: [],
    })
  })

  it('find a code among characters without width', () => {
    const { code, values } = parse('F\u200B\uFEFF 12345 ok')
    assert.equal(code, 'F')
    assert.deepEqual(values, { patient_id: '12345', notes: 'ok' })
  })

  it('separate the code from what follows in many ways', () => {
    for (const separator of [' ', '!', '-', ',', ':', '#', ' : ']) {
      assert.deepEqual(parse(`f${separator}12345`).values, { patient_id: '12345' }, separator)
    }
    assert.deepEqual(parse('F').values, {})
  })

  it('make lists of labels that repeat, and dates and numbers of what looks like them', () => {
    const fields = { X: { fields: { when: field('x', 'w'), many: field('x', 'm') } } }
    assert.deepEqual(parse('X w 2012-3-4#m 1#m b', fields).values, {
      when: Date.UTC(2012, 2, 4),
      many: [1, 'b'],
    })
    assert.deepEqual(parse('X w 2012-13-4#m 12 apples', fields).values, {
      when: '2012-13-4',
      many: '12apples',
    })
    assert.deepEqual(parse('X w 2012/3/4#m 0123', fields).values, {
      when: Date.UTC(2012, 2, 4),
      many: '0123',
    })
    assert.equal(parse('X w 1#m 12345678901234567890', fields).values.many, '12345678901234567890')
  })

  it('tell a text field that it got a number, but not ids', () => {
    assert.deepEqual(parse('F pid 7#not 7').problems, [
      { code: 'sys.incorrect_type', values: { key: 'notes', type: 'string' } },
    ])
  })

  it('know labels that are translated', () => {
    const forms = {
      X: {
        fields: {
          age: field('integer', { translation_key: 'label.age' }),
          sex: field('string', { en: 'sx', ne: 'ling' }),
          ward: field('string', { translations: [{ locale: 'en', content: 'wrd' }] }),
        },
      },
    }
    assert.deepEqual(parse('X umer 7#LING f#wrd A', forms).values, { age: 7, sex: 'f', ward: 'A' })
    // One piece, but it begins with a label and a digit.
    assert.deepEqual(parse('X umer7', forms).values, { age: 7 })
  })

  it('survive odd texts', () => {
    for (const message of ['1!YYYZ!', '!!!', '#', '1!!', '"', 'F "', 'F #', '\u0000', '\ud800 x']) {
      assert.doesNotThrow(() => parse(message), message)
    }
    const long = `YYYZ ${'a#'.repeat(200_000)}`
    assert.deepEqual(parse(long).values, {})
  })
})

describe('values of messages', () => {
  it('are numbers in any digits', () => {
    assert.equal(one('integer', '\u0967\u0968'), 12)
    assert.equal(one('integer', '1\u200B2'), 12)
    assert.equal(one('integer', 'twelve'), null)
    assert.equal(one('integer', '#'), null)
    assert.equal(one('month', '3'), 3)
  })

  it('are labels of lists', () => {
    const list = [
      ['1', { translation_key: 'month.one' }],
      ['2', 'Two'],
    ]
    assert.equal(one('integer', '1', { list }), 'Baisakh')
    assert.equal(one('integer', '9', { list }), null)
    assert.equal(one('string', '2', { list }), 'Two')
    assert.equal(one('string', '9', { list }), '9')
  })

  it('are days where the server is', () => {
    assert.equal(one('date', '2012-03-04'), new Date(2012, 2, 4).getTime())
    assert.equal(one('date', '2012-02-30'), null)
    assert.equal(one('date', 'soon'), null)
  })

  it('are days of the calendar of Nepal', () => {
    assert.equal(one('bsDate', '2007-04-32'), new Date(1950, 7, 16).getTime())
    assert.equal(one('bsDate', '\u0968\u0966\u096D\u0969-12-15'), new Date(2017, 2, 28).getTime())
    assert.equal(one('bsDate', '2007-01-32'), null)
    assert.equal(one('bsDate', '1900-01-01'), null)
    const forms = {
      X: {
        fields: {
          y: field('bsYear', 'y'),
          m: field('bsMonth', 'm'),
          d: field('bsDay', 'd'),
          born: field('bsAggreDate'),
          name: field('string', 'n'),
        },
      },
    }
    assert.deepEqual(parse('X \u0968\u0966\u096D\u0969 12 15 Sita Devi', forms).values, {
      y: '2073',
      m: '12',
      d: '15',
      born: new Date(2017, 2, 28).getTime(),
      name: 'Sita Devi',
    })
    assert.equal(parse('X y 1980', forms).values.born, new Date(1923, 3, 13).getTime())
    assert.equal(parse('X y 1980#m 77', forms).values.born, null)
  })

  it('are yes and no, phone numbers, and what nobody knows', () => {
    assert.equal(one('boolean', '1'), true)
    assert.equal(one('boolean', '0'), false)
    assert.equal(one('boolean', '2'), null)
    assert.equal(one('phone_number', '9841234567'), '+9779841234567')
    assert.equal(one('phone_number', 'none'), 'none')
    assert.equal(one('wish', '12'), '12')
  })
})

describe('what is wrong with a message', () => {
  const forms = {
    R: {
      fields: {
        a: field('string', 'a', { required: true }),
        b: field('integer', 'b', { required: true }),
        'deep.c': field('boolean', 'c', { required: true }),
      },
    },
  }
  it('is that fields are missing', () => {
    assert.deepEqual(parse('R', forms).problems, [
      { code: 'sys.missing_fields', values: { fields: 'a,b,deep.c' } },
    ])
    assert.deepEqual(parse('1!R!x#y#1', forms).problems, [
      { code: 'sys.missing_fields', values: { fields: 'b' } },
    ])
  })

  it('is that there is nothing, or no such form where forms are all', () => {
    assert.deepEqual(parse(' \n').problems, [{ code: 'sys.empty' }])
    assert.deepEqual(parse('hello you').problems, [])
    assert.deepEqual(parse('hello you', FORMS, { forms_only_mode: true }).problems, [
      { code: 'sys.form_not_found', values: { form: 'HELLO' } },
    ])
  })
})
