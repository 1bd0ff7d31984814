/**
 * What the steps of an upgrade work with. `note` writes a step into the upgrade's log and fails with `UpgradeGone` when
 * the upgrade was given up meanwhile; every step asks before it begins, so that an abort is heard soon.
 */
import type { ServerOperations } from '../../core/operations/operations.ts'
import type { JsonObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import {
  type IndexerProgress,
  type Step,
  stepEntry,
  type UpgradeDocument,
  type UpgradeDocuments,
} from './upgrade-document.ts'
import type { UpgradeLogs, UpgradeState } from './upgrade-log.ts'

/** Nobody wants the upgrade any more, or it is another one by now. */
export class UpgradeGone extends Error {}

export interface ContextParts {
  readonly server: ServerOperations
  readonly documents: UpgradeDocuments
  readonly logs: UpgradeLogs
  readonly clock: () => number
  /** Databases that have design documents of the application. */
  readonly databases: readonly DocumentDatabase[]
  readonly buildsUrl: string
  readonly signal: AbortSignal
}

export class UpgradeContext {
  readonly server: ServerOperations
  readonly databases: readonly DocumentDatabase[]
  readonly buildsUrl: string
  readonly signal: AbortSignal
  readonly clock: () => number
  readonly #documents: UpgradeDocuments
  readonly #logs: UpgradeLogs
  #upgrade: UpgradeDocument

  constructor(parts: ContextParts, upgrade: UpgradeDocument) {
    this.server = parts.server
    this.databases = parts.databases
    this.buildsUrl = parts.buildsUrl
    this.signal = parts.signal
    this.clock = parts.clock
    this.#documents = parts.documents
    this.#logs = parts.logs
    this.#upgrade = upgrade
  }

  get upgrade(): UpgradeDocument {
    return this.#upgrade
  }

  async note(step: Step, message: string, changed: JsonObject = {}): Promise<void> {
    const entry = stepEntry(step, message, this.clock())
    await this.#change(({ log }) => ({ ...changed, log: [...log, entry] }))
  }

  /** The last word about indexes stands in for the one before. */
  async noteProgress(indexers: readonly IndexerProgress[]): Promise<void> {
    await this.#change(({ log }) => {
      const before = log.at(-1)?.type === 'warm_log' ? log.slice(0, -1) : log
      return { log: [...before, { type: 'warm_log', indexers }] }
    })
  }

  enter(state: UpgradeState): Promise<void> {
    return this.#logs.enter(this.#upgrade.upgrade_log_id, state)
  }

  remove(): Promise<void> {
    return this.#documents.remove(this.#upgrade.upgrade_log_id)
  }

  async #change(change: (upgrade: UpgradeDocument) => JsonObject): Promise<void> {
    this.signal.throwIfAborted()
    const { upgrade_log_id, action } = this.#upgrade
    const isGivenUp = (stored: UpgradeDocument): boolean =>
      stored.action === 'abort' && action !== 'abort'
    const changed = await this.#documents.change(upgrade_log_id, stored =>
      isGivenUp(stored) ? undefined : change(stored),
    )
    if (changed === undefined || isGivenUp(changed)) throw new UpgradeGone()
    this.#upgrade = changed
  }
}
