/**
 * Logging in with a link that comes as a message: it works once, for a day. The token stands in the account; a document
 * of its own carries the messages, one with the words that are configured and one with the link.
 */
import { randomInt } from 'node:crypto'
import { applicationDatabase } from '../../base/product-names.ts'
import type { ApplicationContext } from '../application-context.ts'
import { type Document, isObject, type JsonObject } from '../documents/document.ts'
import type { Settings } from '../settings/settings.ts'

const TOKEN_LENGTH = 64
const PASSWORD_LENGTH = 20
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
const TOKEN_ALPHABET = `${LETTERS}.,:!$-=`
const VALID_MS = 24 * 60 * 60 * 1000

export interface TokenGrant {
  readonly token: string
  readonly expirationDate: number
  /** Carries the messages. */
  readonly document: Document
}

export const isTokenLoginEnabled = ({ all }: Settings): boolean =>
  isObject(all.token_login) && all.token_login.enabled === true

export const tokenDocumentId = (token: string): string => `token:login:${token}`

/** One that nobody will ever type. */
export const randomPassword = (): string => randomText(PASSWORD_LENGTH, TOKEN_ALPHABET)

export interface GrantRequest {
  readonly userId: string
  readonly phone: string
  /** Of this server, where the settings name no address for people. */
  readonly baseUrl: string
}

export async function grantToken(
  context: ApplicationContext,
  { userId, phone, baseUrl }: GrantRequest,
): Promise<TokenGrant> {
  const { settings, clock, data } = context
  const nowMs = clock()
  const token = randomText(TOKEN_LENGTH, TOKEN_ALPHABET)
  const { app_url: appUrl } = settings.all
  const address = (typeof appUrl === 'string' && appUrl !== '' ? appUrl : baseUrl).replace(
    /\/+$/,
    '',
  )
  const link = `${address}/${applicationDatabase()}/login/token/${token}`
  const texts = [await invitation(context), link]
  const document = {
    _id: tokenDocumentId(token),
    type: 'token_login',
    reported_date: nowMs,
    user: userId,
    tasks: texts.map(message => ({
      messages: [{ to: phone, message, uuid: data.newId() }],
      state: 'pending',
      state_history: [{ state: 'pending', timestamp: new Date(nowMs).toISOString() }],
    })),
  }
  return { token, expirationDate: nowMs + VALID_MS, document }
}

/** As the account has it. */
export const accountToken = ({ token, expirationDate }: TokenGrant): JsonObject => ({
  active: true,
  token,
  expiration_date: expirationDate,
})

/** As the settings document has it: people may read that. */
export const shownToken = ({ expirationDate }: TokenGrant): JsonObject => ({
  active: true,
  expiration_date: expirationDate,
})

/** The document of an earlier token with its messages called back; undefined when none is left to be sent. */
export function withClearedTasks(document: Document, nowMs: number): Document | undefined {
  const tasks = Array.isArray(document.tasks) ? (document.tasks as unknown[]) : []
  const isPending = (task: unknown): task is JsonObject =>
    isObject(task) && task.state === 'pending'
  if (!tasks.some(isPending)) return undefined
  const cleared = { state: 'cleared', timestamp: new Date(nowMs).toISOString() }
  return {
    ...document,
    tasks: tasks.map(task => {
      if (!isPending(task)) return task
      const history = Array.isArray(task.state_history) ? task.state_history : []
      return { ...task, state: 'cleared', state_history: [...history, cleared] }
    }),
  }
}

/** The words in front of the link, in the language that messages are sent in. */
async function invitation({ settings, data }: ApplicationContext): Promise<string> {
  const configured = isObject(settings.all.token_login) ? settings.all.token_login : {}
  const { message, translation_key: key } = configured
  const locale = localeOf(settings)
  if (typeof message === 'string') return message
  if (Array.isArray(message)) {
    const texts = message.filter(isObject)
    const chosen = texts.find(each => each.locale === locale) ?? texts[0]
    if (typeof chosen?.content === 'string') return chosen.content
  }
  if (typeof key !== 'string') return ''
  const translations = await data.get(`messages-${locale}`)
  for (const words of [translations?.custom, translations?.generic]) {
    if (isObject(words) && Object.hasOwn(words, key)) return String(words[key])
  }
  return key
}

const localeOf = ({ all }: Settings): string => {
  const locale = all.locale_outgoing || all.locale
  return typeof locale === 'string' && locale !== '' ? locale : 'en'
}

const randomText = (length: number, alphabet: string): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
