/**
 * What this node tells the others and hears from them, in the primary. Messages are quick and may be lost; so the versions
 * of all stores are looked at as well, seldom while messages come through and often while they do not. Whatever way a
 * change becomes known, the processes of this node get the same notice as of a change of their own.
 */
import { randomBytes } from 'node:crypto'
import type { Catalog } from '../core/database/catalog.ts'
import type { Notice } from '../core/notices/notices.ts'
import type { StoreId } from '../engine/engine.ts'
import { type Listening, MESSAGE_BYTES_MAX, type Peers } from '../engine/peers.ts'
import type { FailedLogin } from './boot.ts'
import { SETTINGS_STORE } from './shared-configuration.ts'

const UPDATES_STORE = 'updates'
const CATALOG_STORE = 'catalog'
/** Notices of this time travel together. */
const GATHER_MS = 5
const POLL_LISTENING_MS = 15_000
const POLL_ALONE_MS = 500
/** Looking takes at the most this share of the time. */
const POLL_SHARE = 1 / 20

export interface NodeLinkParts {
  readonly peers: Peers
  readonly catalog: Catalog
  readonly tellNotice: (notice: Notice) => void
  readonly tellFailedLogin: (failed: FailedLogin) => void
  /** Another node changed the configuration. */
  readonly configurationChanged: () => Promise<void>
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void
}

interface Message {
  readonly from: string
  readonly notices?: readonly Notice[]
  readonly logins?: readonly FailedLogin[]
  readonly configuration?: boolean
}

export class NodeLink {
  readonly #parts: NodeLinkParts
  readonly #id = randomBytes(8).toString('hex')
  readonly #notices = new Map<string, Notice>()
  readonly #logins = new Map<string, FailedLogin>()
  #versions: ReadonlyMap<StoreId, bigint> | undefined
  #names: ReadonlyMap<StoreId, string> = new Map()
  #listening: Listening | undefined
  #sendTimer: NodeJS.Timeout | undefined
  #pollTimer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined
  #isClosed = false

  constructor(parts: NodeLinkParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    await this.#look()
    this.#listening = this.#parts.peers.listen({
      hear: text => this.#hear(text),
      miss: () => this.#pollSoon(),
    })
    this.#pollLater(POLL_ALONE_MS)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#pollTimer)
    clearTimeout(this.#sendTimer)
    this.#listening?.close()
    await this.#polling
    await this.#send()
  }

  publish(notice: Notice): void {
    this.#notices.set(`${notice.kind} ${notice.id}`, notice)
    this.#sendLater()
  }

  publishFailedLogin(failed: FailedLogin): void {
    this.#logins.set(`${failed.peer} ${failed.name}`, failed)
    this.#sendLater()
  }

  async publishConfiguration(): Promise<void> {
    await this.#say({ from: this.#id, configuration: true })
  }

  #sendLater(): void {
    this.#sendTimer ??= setTimeout(() => void this.#send(), GATHER_MS)
  }

  async #send(): Promise<void> {
    this.#sendTimer = undefined
    const notices = [...this.#notices.values()]
    const logins = [...this.#logins.values()]
    this.#notices.clear()
    this.#logins.clear()
    for (const part of inParts(notices)) await this.#say({ from: this.#id, notices: part })
    for (const part of inParts(logins)) await this.#say({ from: this.#id, logins: part })
  }

  async #say(message: Message): Promise<void> {
    try {
      await this.#parts.peers.say(JSON.stringify(message))
    } catch (error) {
      // The others find out by looking.
      this.#parts.warn('other nodes could not be told of changes', { error: String(error) })
    }
  }

  #hear(text: string): void {
    const message = parseMessage(text)
    if (message === undefined || message.from === this.#id) return
    for (const notice of message.notices ?? []) this.#parts.tellNotice(notice)
    for (const failed of message.logins ?? []) this.#parts.tellFailedLogin(failed)
    if (message.configuration === true) void this.#followConfiguration()
  }

  async #followConfiguration(): Promise<void> {
    try {
      await this.#parts.configurationChanged()
    } catch (error) {
      this.#parts.warn('the configuration could not be read', { error: String(error) })
    }
  }

  #pollSoon(): void {
    if (this.#isClosed || this.#polling !== undefined) return
    clearTimeout(this.#pollTimer)
    this.#pollLater(0)
  }

  #pollLater(ms: number): void {
    this.#pollTimer = setTimeout(() => {
      const startMs = performance.now()
      this.#polling = this.#look()
        .catch(error =>
          this.#parts.warn('changes could not be looked for', { error: String(error) }),
        )
        .finally(() => {
          this.#polling = undefined
          if (this.#isClosed) return
          const usual = this.#listening?.isOn === true ? POLL_LISTENING_MS : POLL_ALONE_MS
          this.#pollLater(Math.max(usual, (performance.now() - startMs) / POLL_SHARE))
        })
    }, ms)
    this.#pollTimer.unref()
  }

  /** The first look only remembers. */
  async #look(): Promise<void> {
    const before = this.#versions
    const now = new Map(await this.#parts.peers.versions())
    this.#versions = now
    const hasChanged = (id: StoreId): boolean => before?.get(id) !== now.get(id)
    if (hasChanged(CATALOG_STORE)) await this.#readNames(before !== undefined)
    if (before === undefined) return
    if (hasChanged(SETTINGS_STORE)) await this.#followConfiguration()
    for (const id of now.keys()) if (hasChanged(id)) this.#tellChange(id)
  }

  #tellChange(id: StoreId): void {
    const name = this.#names.get(id)
    if (name !== undefined) this.#parts.tellNotice({ kind: 'database_updated', name, id, seq: 0 })
    else if (id === UPDATES_STORE) {
      this.#parts.tellNotice({ kind: 'updates_recorded', name: id, id, seq: 0 })
    }
  }

  async #readNames(tell: boolean): Promise<void> {
    const before = this.#names
    const now = new Map(await this.#parts.catalog.stores())
    this.#names = now
    if (!tell) return
    for (const [id, name] of now) {
      if (!before.has(id)) this.#parts.tellNotice({ kind: 'database_created', name, id })
    }
    for (const [id, name] of before) {
      if (!now.has(id)) this.#parts.tellNotice({ kind: 'database_deleted', name, id })
    }
  }
}

const HEAD_BYTES = 100

function inParts<T>(items: readonly T[]): T[][] {
  const parts: T[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const item of items) {
    const length = Buffer.byteLength(JSON.stringify(item)) + 1
    if (bytes + length > MESSAGE_BYTES_MAX) {
      parts.push([])
      bytes = HEAD_BYTES
    }
    parts.at(-1)?.push(item)
    bytes += length
  }
  return parts
}

/** Others may speak on the same channel. */
function parseMessage(text: string): Message | undefined {
  try {
    const message = JSON.parse(text) as Message
    return typeof message?.from === 'string' ? message : undefined
  } catch {
    return undefined
  }
}
