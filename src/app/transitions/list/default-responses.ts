/**
 * Answers messages that no form takes: empty ones, those with an unknown form where there is nothing but forms, and all
 * others. From a configured day on, and never to the gateway's own number.
 */
import { isObject } from '../../documents/document.ts'
import { isDeniedRecipient } from '../../messages/denied-recipient.ts'
import type { Transition } from '../transition.ts'
import type { Work } from '../work.ts'

export const defaultResponses: Transition = {
  name: 'default_responses',
  runsOnArrival: true,
  isFor: work => {
    const { isRecord, stored, desk } = work
    const { from } = stored
    if (!isRecord || typeof from !== 'string' || from === '') return false
    if (stored.kujua_message === true || !isAfterStart(work)) return false
    const { gateway_number: gateway } = desk.settings.all
    const isGateway =
      gateway !== undefined &&
      isDeniedRecipient(from, { ...desk.settings, all: { gateway_number: gateway } })
    return !isGateway && answerTo(work) !== undefined
  },
  async run(work) {
    const key = answerTo(work)
    if (key === undefined) return false
    const source = { ...work.textOf(key), recipient: 'reporting_unit' }
    work.addMessage(source, `default_responses:${key}`, { names: { form: formOf(work) } })
    return true
  },
}

const hasError = ({ errors }: Work, code: string): boolean =>
  errors.some(error => error.code === code)

function answerTo(work: Work): string | undefined {
  if (hasError(work, 'sys.empty')) return 'empty'
  const isUnknown = hasError(work, 'sys.form_not_found')
  if (work.desk.settings.all.forms_only_mode) return isUnknown ? 'form_not_found' : undefined
  return isUnknown || work.form === undefined ? 'sms_received' : undefined
}

function formOf({ stored }: Work): unknown {
  const message = isObject(stored.sms_message) ? stored.sms_message : {}
  return stored.form ?? message.form ?? ''
}

function isAfterStart({ desk, reportedMs }: Work): boolean {
  const configured = desk.settings.all.default_responses
  const start = isObject(configured) ? configured.start_date : undefined
  const parts =
    typeof start === 'string' ? /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(start.trim()) : null
  if (parts === null) return false
  const [, year, month, day] = parts.map(Number)
  return new Date(year as number, (month as number) - 1, day).getTime() < reportedMs
}
