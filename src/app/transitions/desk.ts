/**
 * What transitions of one batch work with: one snapshot of the settings and texts, the database as the batch sees it,
 * short ids, expressions, and what is to be remembered about documents.
 */
import type { ApplicationContext } from '../application-context.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { type MutingEntry, withMuting } from '../info-documents/info-document.ts'
import type { InfoChange, InfoStore } from '../info-documents/info-store.ts'
import type { MessageKit } from '../messages/generate-message.ts'
import type { RepeatedMessages } from '../messages/repeated-messages.ts'
import type { Translations } from '../messages/translations.ts'
import type { Settings } from '../settings/settings.ts'
import type { BatchDatabase } from './batch-database.ts'
import type { Expressions } from './expressions.ts'
import type { ShortCodes } from './short-codes.ts'

export interface DeskParts {
  readonly data: BatchDatabase
  /** Accounts. */
  readonly users: DocumentDatabase
  readonly infos: InfoStore
  readonly settings: Settings
  readonly translations: Translations
  readonly expressions: Expressions
  readonly shortCodes: ShortCodes
  readonly repeated: RepeatedMessages
  readonly clock: () => number
}

export class Desk implements ApplicationContext {
  readonly data: BatchDatabase
  readonly users: DocumentDatabase
  readonly settings: Settings
  readonly translations: Translations
  readonly expressions: Expressions
  readonly shortCodes: ShortCodes
  readonly repeated: RepeatedMessages
  readonly clock: () => number
  readonly #infos: InfoStore
  /** Changes of info documents, by the id of the document and then by who asked. */
  readonly #infoChanges = new Map<string, { owner: string; change: InfoChange }[]>()
  readonly #pushes = new Map<string, readonly string[]>()

  constructor(parts: DeskParts) {
    this.data = parts.data
    this.users = parts.users
    this.settings = parts.settings
    this.translations = parts.translations
    this.expressions = parts.expressions
    this.shortCodes = parts.shortCodes
    this.repeated = parts.repeated
    this.clock = parts.clock
    this.#infos = parts.infos
  }

  get client(): string {
    return `${this.data.name}-client`
  }

  messageKit(uuid: string): MessageKit {
    const { settings, translations, clock } = this
    return { settings, translations, clock, newUuid: () => uuid }
  }

  /** Remembers something about a document, once the batch is written. */
  changeInfo(documentId: string, owner: string, change: InfoChange): void {
    const changes = this.#infoChanges.get(documentId) ?? []
    changes.push({ owner, change })
    this.#infoChanges.set(documentId, changes)
  }

  /** What last silenced a contact, or ended that. */
  async lastMuting(contactId: string): Promise<MutingEntry | undefined> {
    const infos = await this.#infos.read([contactId])
    return infos.get(contactId)?.muting_history?.at(-1)
  }

  /** Written at once: whoever does it again after a crash sees that it was his own doing. */
  rememberMuting(contactIds: readonly string[], entry: MutingEntry): Promise<void> {
    const change: InfoChange = info => withMuting(info, entry)
    return this.#infos.change(new Map(contactIds.map(id => [id, change])))
  }

  /** Asks for pushes of a document to other systems. @param names of the pushes, as the settings have them */
  push(documentId: string, names: readonly string[]): void {
    this.#pushes.set(documentId, names)
  }

  /** The pushes of those whose work was written. */
  pushes(isDone: (id: string) => boolean): Map<string, readonly string[]> {
    return new Map([...this.#pushes].filter(([id]) => isDone(id)))
  }

  /** What is to be remembered of those whose work was written. */
  infoChanges(isDone: (owner: string) => boolean): Map<string, InfoChange> {
    const wanted = new Map<string, InfoChange>()
    for (const [id, changes] of this.#infoChanges) {
      const done = changes.filter(({ owner }) => isDone(owner))
      if (done.length === 0) continue
      wanted.set(id, info => done.reduce((before, { change }) => change(before), info))
    }
    return wanted
  }
}
