/**
 * The settings document: read, changed, followed.
 *
 * `current` gives an immutable snapshot. Whoever has changed the main database in any process made the snapshot stale;
 * it is then checked against the stored revision when somebody asks, and soon after in any case. A change that came
 * past this class, as an ordinary document write, is completed as every other: permissions that are missing appear, and
 * every configured role becomes a member of the main database.
 */
import { isFailure } from '../../base/errors.ts'
import type { Notices } from '../../core/notices/notices.ts'
import { isObject, type JsonObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { type MergeMode, mergeSettings } from './merge-settings.ts'
import { type Settings, settingsOf } from './settings.ts'

export const SETTINGS_ID = 'settings'

export interface SettingsStoreParts {
  readonly data: DocumentDatabase
  readonly notices: Notices
  readonly onFailure: (thrown: unknown) => void
}

interface Snapshot {
  readonly rev: string | undefined
  readonly settings: Settings
}

const ATTEMPTS_MAX = 10
/** How long after a change it is followed up when nobody asks. */
const FOLLOW_MS = 200

export class SettingsStore {
  readonly #parts: SettingsStoreParts
  readonly #unsubscribe: () => void
  #snapshot: Snapshot = { rev: undefined, settings: settingsOf({}) }
  #reading: Promise<Snapshot> | undefined
  #isStale = true
  /** The revision that was found or made complete. */
  #completeRev: string | undefined
  #followUp: NodeJS.Timeout | undefined
  #isFollowing = false
  #following: Promise<void> = Promise.resolve()

  constructor(parts: SettingsStoreParts) {
    this.#parts = parts
    this.#unsubscribe = parts.notices.subscribe(notice => {
      if (notice.name !== parts.data.name || notice.kind === 'updates_recorded') return
      this.#isStale = true
      if (this.#isFollowing) this.#scheduleFollowUp()
    })
  }

  current(): Settings | Promise<Settings> {
    if (this.#isStale) this.#read()
    return this.#reading === undefined
      ? this.#snapshot.settings
      : this.#reading.then(({ settings }) => settings)
  }

  /** True when the document was written: its text would have stayed the same otherwise. */
  async update(given: JsonObject, mode: MergeMode): Promise<boolean> {
    const isWritten = await this.#write(current => mergeSettings(current, given, mode))
    await this.#admitRoles()
    return isWritten
  }

  /** Brings the stored document into order, and from now on does so after every change. */
  async follow(defaults: JsonObject): Promise<void> {
    await this.#write((current, exists) => mergeSettings(exists ? current : defaults, {}, 'merge'))
    await this.#admitRoles()
    this.#completeRev = this.#snapshot.rev
    this.#isFollowing = true
  }

  async close(): Promise<void> {
    this.#isFollowing = false
    this.#unsubscribe()
    clearTimeout(this.#followUp)
    await this.#following
  }

  /** One read at a time counts: the newest. Those that began before a change was known do not. */
  #read(): void {
    this.#isStale = false
    const reading: Promise<Snapshot> = this.#load()
    this.#reading = reading
    reading.then(
      snapshot => {
        if (this.#reading !== reading) return
        this.#snapshot = snapshot
        this.#reading = undefined
      },
      () => {
        if (this.#reading !== reading) return
        this.#reading = undefined
        this.#isStale = true
      },
    )
  }

  async #load(): Promise<Snapshot> {
    const { data } = this.#parts
    const known = this.#snapshot
    // Asked after every change of any document, and settings are large: they are parsed when they are others.
    if (known.rev !== undefined && (await data.revisionOf(SETTINGS_ID)) === known.rev) return known
    const document = await data.get(SETTINGS_ID)
    const stored = document?.settings ?? (await this.#legacySettings())
    return { rev: document?._rev, settings: settingsOf(isObject(stored) ? stored : {}) }
  }

  /** Where installations of long ago had them. */
  async #legacySettings(): Promise<unknown> {
    const { data } = this.#parts
    return (await data.get(`_design/${data.name}`))?.app_settings
  }

  async #write(change: (current: JsonObject, exists: boolean) => JsonObject): Promise<boolean> {
    const { data } = this.#parts
    for (let attempt = 1; ; attempt++) {
      const document = await data.get(SETTINGS_ID)
      const stored = document?.settings ?? (await this.#legacySettings())
      const before = isObject(stored) ? stored : {}
      const after = change(before, isObject(stored))
      const isSame = JSON.stringify(before) === JSON.stringify(after)
      if (isSame && document !== undefined) return false
      try {
        await data.put({ ...document, _id: SETTINGS_ID, settings: after })
        this.#isStale = true
        return true
      } catch (thrown) {
        if (!isFailure(thrown, 'document_conflict') || attempt === ATTEMPTS_MAX) throw thrown
      }
    }
  }

  async #admitRoles(): Promise<void> {
    const { roles } = await this.current()
    const database = await this.#parts.data.open()
    const security = JSON.parse((await database.securityText()).toString()) as JsonObject
    const members = isObject(security.members) ? security.members : {}
    const known = Array.isArray(members.roles) ? members.roles : []
    const missing = Object.keys(roles).filter(role => !known.includes(role))
    if (missing.length === 0) return
    const admitted = { ...members, roles: [...known, ...missing] }
    await database.setSecurity(Buffer.from(JSON.stringify({ ...security, members: admitted })))
  }

  #scheduleFollowUp(): void {
    if (this.#followUp !== undefined) return
    this.#followUp = setTimeout(() => {
      this.#followUp = undefined
      this.#following = this.#following.then(() => this.#catchUp())
    }, FOLLOW_MS).unref()
  }

  async #catchUp(): Promise<void> {
    try {
      await this.current()
      if (!this.#isFollowing || this.#snapshot.rev === this.#completeRev) return
      await this.update({}, 'merge')
      await this.current()
      this.#completeRev = this.#snapshot.rev
    } catch (thrown) {
      if (this.#isFollowing) this.#parts.onFailure(thrown)
    }
  }
}
