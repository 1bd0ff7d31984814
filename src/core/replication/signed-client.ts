/**
 * An HTTP client that logs in: with a session of the other server, as CouchDB's replicator does, or with name and
 * password in every request where the other server has no sessions. One session serves all requests of a peer; it is
 * renewed before it grows old and when the other server does not take it any more.
 *
 * A session that was made a moment ago and is refused is not renewed: then the refusal is the answer. A request whose
 * body is a stream cannot be repeated here; it fails as something that may pass, with the session renewed. Names and
 * passwords go nowhere but into these requests.
 */
import { Failure } from '../../base/errors.ts'
import type { LoginKind } from '../configuration/replication-settings.ts'
import { type RemoteEndpoint, showEndpoint } from './endpoint.ts'
import { type ClientCall, type ClientOptions, type HttpAnswer, HttpClient } from './http-client.ts'
import { passing } from './retry.ts'

export interface LoginOptions {
  /** The first that the other server takes. */
  readonly logins: readonly LoginKind[]
  /** A session is renewed after this time, unless it says that it ends earlier. */
  readonly sessionMs: number
  readonly clock: () => number
}

export interface SignedOptions extends ClientOptions {
  readonly login: LoginOptions
  /** Ends a login that is under way. */
  readonly signal: AbortSignal
}

type Login = { readonly kind: 'none' } | { readonly kind: 'basic' } | Session

interface Session {
  readonly kind: 'session'
  readonly cookie: string
  readonly madeMs: number
  readonly renewMs: number
}

/** Younger sessions are not renewed when they are refused. */
const YOUNG_MS = 5000
const SESSION_PATH = '/_session'

export class SignedClient {
  readonly #endpoint: RemoteEndpoint
  readonly #options: SignedOptions
  readonly #client: HttpClient
  #login: Promise<Login> | undefined
  #settled: Login | undefined

  constructor(endpoint: RemoteEndpoint, options: SignedOptions) {
    this.#endpoint = endpoint
    this.#options = options
    this.#client = new HttpClient(endpoint, options)
    if (!mayLogIn(endpoint)) this.#settled = { kind: 'none' }
    else if (options.login.logins[0] === 'basic') this.#settled = { kind: 'basic' }
  }

  async send(call: ClientCall): Promise<HttpAnswer> {
    const login = this.#usable() ?? (await this.#logIn())
    const answer = await this.#client.send(this.#signed(call, login))
    if (answer.status !== 401 || login.kind !== 'session' || this.#isYoung(login)) return answer
    await answer.drop()
    if (this.#settled === login) this.#settled = undefined
    const next = this.#usable() ?? (await this.#logIn())
    if (!isRepeatable(call)) throw passing('the session with the other server was over')
    return await this.#client.send(this.#signed(call, next))
  }

  close(): void {
    this.#client.close()
  }

  #usable(): Login | undefined {
    const login = this.#settled
    if (login?.kind !== 'session') return login
    return this.#options.login.clock() < login.renewMs ? login : undefined
  }

  #isYoung({ madeMs }: Session): boolean {
    return this.#options.login.clock() - madeMs < YOUNG_MS
  }

  /** However many requests ask for it, one login is under way. */
  #logIn(): Promise<Login> {
    this.#login ??= this.#askForSession()
      .then(login => {
        this.#settled = login
        return login
      })
      .finally(() => {
        this.#login = undefined
      })
    return this.#login
  }

  async #askForSession(): Promise<Login> {
    const { user = '', password = '' } = this.#endpoint
    const answer = await this.#client.send({
      method: 'POST',
      path: SESSION_PATH,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: Buffer.from(new URLSearchParams({ name: user, password }).toString()),
      signal: this.#options.signal,
    })
    const { status } = answer
    await answer.drop()
    if (status >= 500 || status === 429 || status === 408) {
      throw passing(`${showEndpoint(this.#endpoint)} answers ${status} to a login`, { status })
    }
    const session = status === 200 ? this.#readSession(answer.cookies) : undefined
    if (session !== undefined) return session
    // Who asks for Basic even at this door may take it; who does not has refused this very password.
    const isWrong = status === 401 && answer.header('www-authenticate') === undefined
    if (isWrong || !this.#options.login.logins.includes('basic')) throw this.#refused(status)
    return { kind: 'basic' }
  }

  #readSession(cookies: readonly string[]): Session | undefined {
    for (const text of cookies) {
      const cookie = /^\s*(AuthSession=[^;\s]+)/i.exec(text)?.[1]
      if (cookie === undefined) continue
      const { clock, sessionMs } = this.#options.login
      const ageSeconds = /;\s*max-age\s*=\s*"?(\d{1,9})/i.exec(text)?.[1]
      const endMs = ageSeconds === undefined ? sessionMs : Number(ageSeconds) * 1000 * LIFE_USED
      const madeMs = clock()
      return { kind: 'session', cookie, madeMs, renewMs: madeMs + Math.min(sessionMs, endMs) }
    }
    return undefined
  }

  #signed(call: ClientCall, login: Login): ClientCall {
    if (login.kind === 'none') return call
    if (login.kind === 'basic') {
      const { user, password } = this.#endpoint
      const text = Buffer.from(`${user}:${password ?? ''}`).toString('base64')
      return { ...call, headers: { ...call.headers, Authorization: `Basic ${text}` } }
    }
    const [name, others] = this.#endpoint.headers.find(isCookie) ?? ['Cookie', undefined]
    const value = others === undefined ? login.cookie : `${others}; ${login.cookie}`
    return { ...call, headers: { ...call.headers, [name]: value } }
  }

  #refused(status: number): Failure {
    const reason = `unauthorized to access or create database ${showEndpoint(this.#endpoint)}`
    return new Failure('unauthorized', { reason, status })
  }
}

/** A session is renewed when this much of its life is over. */
const LIFE_USED = 0.9

/** A header that says who it is stands above name and password. */
const mayLogIn = ({ user, headers }: RemoteEndpoint): boolean =>
  user !== undefined && !headers.some(([name]) => name.toLowerCase() === 'authorization')

const isCookie = ([name]: readonly [string, string]): boolean => name.toLowerCase() === 'cookie'

const isRepeatable = ({ body }: ClientCall): boolean => body === undefined || Buffer.isBuffer(body)
