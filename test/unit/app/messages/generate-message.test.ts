/** Making messages: texts, languages, recipients, lengths, and those that are not to be sent. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isDeniedRecipient } from '../../../../src/app/messages/denied-recipient.ts'
import {
  EMPTY_MESSAGE,
  generateMessage,
  type MessageKit,
  messageTask,
} from '../../../../src/app/messages/generate-message.ts'
import { recipientPhone } from '../../../../src/app/messages/recipient.ts'
import { RepeatedMessages } from '../../../../src/app/messages/repeated-messages.ts'
import { countParts, cutToParts } from '../../../../src/app/messages/text-parts.ts'
import { Translations } from '../../../../src/app/messages/translations.ts'
import { settingsOf } from '../../../../src/app/settings/settings.ts'

const translations = new Translations(
  new Map([
    ['en', { hello: 'Hello {{patient_name}} of {{clinic.name}}', only: 'English' }],
    ['sw', { hello: 'Jambo {{patient_name}}' }],
  ]),
)

const kitOf = (all: object): MessageKit => ({
  settings: settingsOf({ ...all }),
  translations,
  newUuid: () => 'uuid',
  clock: () => 1_700_000_000_000,
})

const clinic = {
  _id: 'c',
  type: 'clinic',
  name: 'Household',
  contact: { phone: '+1' },
  linked_docs: { helper: { phone: '+4' }, shop: { contact: { phone: '+5' } } },
  parent: {
    _id: 'h',
    type: 'health_center',
    contact: { phone: '+2' },
    parent: { _id: 'd', type: 'contact', contact_type: 'county', contact: { phone: '+3' } },
  },
}

const record = {
  from: '+9',
  fields: { husband: '+7', nested: { phone: 8 } },
  patient: { _id: 'p', name: 'Ada', type: 'person', parent: clinic },
}

describe('recipients', () => {
  const cases = [
    [undefined, '+9'],
    ['', '+9'],
    ['reporting_unit', '+9'],
    ['clinic', '+1'],
    ['health_center', '+2'],
    ['parent', '+1'],
    ['grandparent', '+2'],
    ['ancestor:county', '+3'],
    ['ancestor:nowhere', '+9'],
    ['link:helper', '+4'],
    ['link:shop', '+5'],
    ['husband', '+7'],
    ['nested.phone', '8'],
    ['fields.husband', '+7'],
    ['+254 700-000', '+254 700-000'],
    ['somebody', '+9'],
    [['somebody', 'link:helper'], '+4'],
    [['somebody', 'nobody'], '+9'],
  ] as const
  for (const [recipient, phone] of cases) {
    it(`${JSON.stringify(recipient)} is ${phone}`, () =>
      assert.equal(recipientPhone(record, recipient), phone))
  }

  it('are nobody where nobody has a number', () => {
    assert.equal(recipientPhone({}, 'clinic'), undefined)
    assert.equal(recipientPhone({ contact: { phone: '+6' } }, undefined), '+6')
  })
})

describe('generateMessage', () => {
  it('finds the text in the language of the record, or in English', () => {
    const make = (more: object, key = 'hello') =>
      generateMessage(kitOf({ locale: 'en' }), { ...record, ...more }, { translation_key: key })
        .message
    assert.equal(make({}), 'Hello Ada of Household')
    assert.equal(make({ locale: 'sw' }), 'Jambo Ada')
    assert.equal(make({ sms_message: { locale: 'sw' } }), 'Jambo Ada')
    assert.equal(make({ locale: 'sw' }, 'only'), 'English')
    const outgoing = kitOf({ locale: 'en', locale_outgoing: 'sw' })
    assert.equal(
      generateMessage(outgoing, record, { translation_key: 'hello' }).message,
      'Jambo Ada',
    )
  })

  it('takes texts from the settings too', () => {
    const messages = [
      { locale: 'en', content: 'one' },
      { locale: 'sw', content: 'moja' },
    ]
    const make = (source: object, locale = 'sw') =>
      generateMessage(kitOf({ locale }), record, source).message
    assert.equal(make({ message: messages }), 'moja')
    assert.equal(make({ messages }, 'fr'), 'one')
    assert.equal(make({ message: { en: 'text', sw: 'maandishi' } }), 'maandishi')
    assert.equal(make({ message: '{{husband}}' }), '+7')
  })

  it('fills in dates and numbers of the country', () => {
    const kit = kitOf({ date_format: 'YYYY/MM/DD', default_country_code: 254 })
    const make = (message: string, fields: object) =>
      generateMessage(kit, { fields }, { message }).message
    const noon = new Date(2024, 3, 20, 12).getTime()
    assert.equal(make('{{#date}}{{lmp}}{{/date}}', { lmp: noon }), '2024/04/20')
    assert.equal(make('{{#datetime}}{{lmp}}{{/datetime}}', { lmp: noon }), '20-Apr-2024 12:00:00')
    assert.equal(
      make('{{#bikram_sambat_date}}{{lmp}}{{/bikram_sambat_date}}', { lmp: noon }),
      '८ बैशाख २०८१',
    )
    assert.equal(make('{{#local_phone}}{{to}}{{/local_phone}}', { to: '+254700' }), '0700')
    assert.equal(make('{{#local_phone}}{{to}}{{/local_phone}}', { to: '+1700' }), '+1700')
  })

  it('says when there is no text', () => {
    for (const source of [{}, { translation_key: 'nothing' }, { message: ' {{nothing}} ' }]) {
      assert.deepEqual(generateMessage(kitOf({}), record, source), {
        uuid: 'uuid',
        to: '+9',
        error: EMPTY_MESSAGE,
      })
    }
  })

  it('cuts what is too long, and keeps the whole', () => {
    const text = 'a'.repeat(500)
    const made = generateMessage(kitOf({ multipart_sms_limit: 2 }), record, { message: text })
    assert.equal(made.message, `${'a'.repeat(303)}...`)
    assert.equal(made.original_message, text)
    assert.equal(generateMessage(kitOf({}), record, { message: text }).message, text)
  })
})

describe('parts of a text', () => {
  it('are counted by the alphabet', () => {
    assert.equal(countParts(''), 1)
    assert.equal(countParts('a'.repeat(160)), 1)
    assert.equal(countParts('a'.repeat(161)), 2)
    assert.equal(countParts('a'.repeat(306)), 2)
    assert.equal(countParts('€'.repeat(81)), 2)
    assert.equal(countParts('ñ'.repeat(160)), 1)
    assert.equal(countParts('न'.repeat(70)), 1)
    assert.equal(countParts('न'.repeat(71)), 2)
  })

  it('do not cut characters', () => {
    const cut = cutToParts('🎉'.repeat(100), 1)
    assert.equal(cut, `${'🎉'.repeat(33)}...`)
    assert.equal(countParts(cut), 1)
  })
})

describe('messages that are not to be sent', () => {
  const denied = (from: unknown, all: object) => isDeniedRecipient(from, settingsOf({ ...all }))

  it('are those to denied numbers', () => {
    assert.equal(denied('+254700', {}), false)
    assert.equal(denied(undefined, { outgoing_deny_list: '254' }), false)
    assert.equal(denied('+254700', { gateway_number: '254700' }), true)
    assert.equal(denied('SAFARI-com', { outgoing_deny_list: 'x, safari' }), true)
    assert.equal(denied('+254700', { outgoing_deny_list: ', 700' }), false)
    assert.equal(denied('12345', { outgoing_deny_shorter_than: 6 }), true)
    assert.equal(denied('123456', { outgoing_deny_shorter_than: '6' }), false)
    assert.equal(denied('BANK', { outgoing_deny_with_alphas: true }), true)
    assert.equal(denied('+254', { outgoing_deny_with_alphas: 'true' }), false)
  })

  it('are those that repeat themselves', () => {
    const settings = settingsOf({ sms: { duplicate_limit: 2 } })
    const repeated = new RepeatedMessages()
    const minute = 60_000
    const say = (at: number, text = 'x') => repeated.isOneTooMany('+1', text, settings, at * minute)
    assert.deepEqual([say(0), say(10), say(40), say(69)], [false, false, true, true])
    assert.equal(say(70, 'other'), false)
    assert.equal(say(100), false)
    const usual = new RepeatedMessages()
    const many = Array.from({ length: 7 }, () => usual.isOneTooMany('+1', 'x', settingsOf({}), 0))
    assert.deepEqual(many, [false, false, false, false, false, true, true])
  })

  it('have the state that says so', () => {
    const task = (all: object) => {
      const kit = kitOf(all)
      const message = generateMessage(kit, record, { message: 'x' })
      return messageTask(kit, new RepeatedMessages(), { record, message, more: { type: 't' } })
    }
    assert.equal(task({ outgoing_deny_list: '+9' }).state, 'denied')
    assert.deepEqual(task({}), {
      messages: [{ uuid: 'uuid', to: '+9', message: 'x' }],
      type: 't',
      state: 'pending',
      state_history: [{ state: 'pending', timestamp: '2023-11-14T22:13:20.000Z' }],
    })
  })
})
