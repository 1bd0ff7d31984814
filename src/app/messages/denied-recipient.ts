/**
 * Numbers that no automatic answer goes to, as the settings say: the gateway's own, prefixes of a list, numbers that are
 * too short, names in place of numbers. The sender of a record is what is looked at: answering such senders makes loops.
 */
import { isObject } from '../documents/document.ts'
import type { Settings } from '../settings/settings.ts'

export function isDeniedRecipient(from: unknown, { all }: Settings): boolean {
  if (typeof from !== 'string' || from === '') return false
  return (
    isGateway(from, all.gateway_number) ||
    isListed(from, all.outgoing_deny_list) ||
    isTooShort(from, all.outgoing_deny_shorter_than) ||
    (isOn(all.outgoing_deny_with_alphas) && /[a-z]/i.test(from))
  )
}

const isGateway = (from: string, gateway: unknown): boolean =>
  typeof gateway === 'string' && gateway !== '' && digitsOf(gateway) === digitsOf(from)

const digitsOf = (phone: string): string => phone.replace(/[^\d]/g, '') || phone

function isListed(from: string, list: unknown): boolean {
  if (typeof list !== 'string') return false
  const lower = from.toLowerCase()
  return list
    .split(',')
    .map(prefix => prefix.trim().toLowerCase())
    .some(prefix => prefix !== '' && lower.startsWith(prefix))
}

function isTooShort(from: string, lengthMin: unknown): boolean {
  const least = Number(lengthMin)
  return Number.isFinite(least) && from.length < least
}

/** People write booleans as texts too. */
const isOn = (value: unknown): boolean => value === true || value === 'true'

/** Of the `sms` part of the settings. */
export const smsSettings = ({ all }: Settings): Readonly<Record<string, unknown>> =>
  isObject(all.sms) ? all.sms : {}
