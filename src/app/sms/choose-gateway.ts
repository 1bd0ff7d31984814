/** Which service takes messages to phones, as the settings say. */
import type { CredentialStore } from '../credentials/credential-store.ts'
import { isObject, isText, type JsonObject } from '../documents/document.ts'
import { smsSettings } from '../messages/denied-recipient.ts'
import type { Settings } from '../settings/settings.ts'
import type { Gateway } from './gateway.ts'
import { AfricasTalkingGateway } from './gateways/africas-talking.ts'
import { NepalDoitGateway } from './gateways/nepal-doit.ts'
import { RapidProGateway } from './gateways/rapid-pro.ts'

/** The gateway application fetches messages by itself; it is also what there is when nothing is configured. */
const FETCHING: readonly unknown[] = [undefined, '', 'svc-gateway', 'medic-gateway']

export const isFetchedByGateway = (settings: Settings): boolean =>
  FETCHING.includes(smsSettings(settings).outgoing_service)

export type GatewayChoice =
  | { readonly gateway: Gateway }
  /** Why no message can be pushed; null where none is to be. */
  | { readonly gateway: undefined; readonly lacks: string | null }

export async function chooseGateway(
  settings: Settings,
  credentials: CredentialStore,
): Promise<GatewayChoice> {
  if (isFetchedByGateway(settings)) return { gateway: undefined, lacks: null }
  const sms = smsSettings(settings)
  const make = MAKERS[String(sms.outgoing_service)]
  if (make === undefined) return { gateway: undefined, lacks: 'a known `sms.outgoing_service`' }
  const made = await make(sms, name => credentials.get(name))
  return typeof made === 'string' ? { gateway: undefined, lacks: made } : { gateway: made }
}

type Secrets = (name: string) => Promise<string | undefined>
/** A gateway, or what is missing to make one. */
type Maker = (sms: JsonObject, secrets: Secrets) => Promise<Gateway | string>

const MAKERS: Readonly<Record<string, Maker>> = {
  'africas-talking': async (sms, secrets) => {
    const { username, url } = partOf(sms, 'africas_talking')
    const apiKey = await secrets('africastalking.com:outgoing')
    if (!isText(username)) return '`sms.africas_talking.username`'
    if (apiKey === undefined) return 'the credential `africastalking.com:outgoing`'
    const from = isText(sms.reply_to) ? sms.reply_to : undefined
    const base = isText(url) ? { baseUrl: withoutSlash(url) } : {}
    return new AfricasTalkingGateway({ username, from, apiKey, ...base })
  },
  rapidpro: async (sms, secrets) => {
    const { url } = partOf(sms, 'rapidpro')
    const token = await secrets('rapidpro:outgoing')
    if (!isText(url)) return '`sms.rapidpro.url`'
    if (token === undefined) return 'the credential `rapidpro:outgoing`'
    return new RapidProGateway({ url: withoutSlash(url), token })
  },
  'nepal-doit-sms': async (sms, secrets) => {
    const { url } = partOf(sms, 'nepal_doit_sms')
    const token = await secrets('nepal_doit_sms:outgoing')
    if (!isText(url)) return '`sms.nepal_doit_sms.url`'
    if (token === undefined) return 'the credential `nepal_doit_sms:outgoing`'
    return new NepalDoitGateway({ url, token })
  },
}

const partOf = (sms: JsonObject, name: string): JsonObject => {
  const part = sms[name]
  return isObject(part) ? part : {}
}

const withoutSlash = (url: string): string => url.trim().replace(/\/+$/, '')
