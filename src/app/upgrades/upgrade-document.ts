/**
 * `svc-upgrade`: which upgrade there is, how far it has come, and what happened. It is all that an upgrade knows of
 * itself, so that any process can go on with it. What counts is the document in the database of logs, which only admins
 * can write; the one in the main database, where observers look for it, is a copy that follows. The same story in the
 * form that newer observers know is `upgrade-log.ts`.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import { applicationDatabase } from '../../base/product-names.ts'
import { type Document, isObject, type JsonObject, without } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import type { BuildName } from './build.ts'

export const UPGRADE_ID = `${applicationDatabase()}-upgrade`

export type UpgradeAction = 'stage' | 'install' | 'complete' | 'abort'

/** In their order. */
export const STEPS = [
  'init',
  'preCleanup',
  'download',
  'extractingDdocs',
  'warmingViews',
  'readyToDeploy',
  'initDeploy',
  'deploying',
  'postCleanup',
] as const
export type Step = (typeof STEPS)[number]

export interface IndexerProgress {
  readonly database: string
  readonly ddoc: string
  readonly design_document: string
  readonly type: 'view_indexing'
  /** Percent by process. */
  readonly tasks: Readonly<Record<string, number>>
  readonly progress: number
}

export type LogEntry =
  | StepEntry
  | { readonly type: 'warm_log'; readonly indexers: readonly IndexerProgress[] }
  | { readonly type: 'error'; readonly datetime: number; readonly message: LogMessage }

interface StepEntry {
  readonly type: 'stage'
  readonly datetime: number
  readonly message: LogMessage
}

interface LogMessage {
  readonly key: string
  readonly message: string
}

export interface UpgradeDocument extends Document {
  readonly user: string
  readonly created: number
  readonly action: UpgradeAction
  readonly build_info: BuildName
  readonly upgrade_log_id: string
  readonly staging_complete?: boolean
  readonly log: readonly LogEntry[]
}

const KEY_PREFIX = 'horti.stage.'

export const stepEntry = (step: Step, message: string, nowMs: number): LogEntry => ({
  type: 'stage',
  datetime: nowMs,
  message: { key: `${KEY_PREFIX}${step}`, message },
})

export const errorEntry = (message: string, nowMs: number): LogEntry => ({
  type: 'error',
  datetime: nowMs,
  message: { key: `${KEY_PREFIX}error`, message },
})

/** That step was begun. */
export function hasBegun({ log }: UpgradeDocument, step: Step): boolean {
  const key = `${KEY_PREFIX}${step}`
  return log.some(entry => entry.type === 'stage' && entry.message.key === key)
}

export const hasFailed = ({ log }: UpgradeDocument): boolean => log.at(-1)?.type === 'error'

/** Somebody has to do something, now. */
export function needsWork(upgrade: UpgradeDocument): boolean {
  if (upgrade.action === 'abort') return true
  if (hasFailed(upgrade)) return false
  return upgrade.action !== 'stage' || upgrade.staging_complete !== true
}

const ATTEMPTS_MAX = 20

export class UpgradeDocuments {
  readonly #store: DocumentDatabase
  readonly #shown: DocumentDatabase

  /**
   * @param store the database of logs
   * @param shown where observers look
   */
  constructor(store: DocumentDatabase, shown: DocumentDatabase) {
    this.#store = store
    this.#shown = shown
  }

  /** Undefined when there is no upgrade. */
  async read(): Promise<UpgradeDocument | undefined> {
    const document = await this.#store.get(UPGRADE_ID)
    return document !== undefined && isUpgrade(document) ? document : undefined
  }

  /** Fails with `document_conflict` while there is one that has not failed. */
  async create(upgrade: Omit<UpgradeDocument, '_id' | '_rev'>): Promise<void> {
    const stored = await this.#store.get(UPGRADE_ID)
    if (stored !== undefined && isUpgrade(stored) && !hasFailed(stored)) throw inTheWay()
    try {
      await this.#store.put({ ...upgrade, _id: UPGRADE_ID, ...revisionOf(stored) })
    } catch (thrown) {
      throw isFailure(thrown, 'document_conflict') ? inTheWay() : thrown
    }
    await this.#show(upgrade)
  }

  /**
   * Changes what is stored; the result, or undefined when the upgrade is gone.
   *
   * @param change gives undefined to leave it as it is
   */
  async change(
    id: string,
    change: (upgrade: UpgradeDocument) => JsonObject | undefined,
  ): Promise<UpgradeDocument | undefined> {
    for (let attempt = 1; ; attempt++) {
      const upgrade = await this.read()
      if (upgrade?.upgrade_log_id !== id) return undefined
      const changed = change(upgrade)
      if (changed === undefined) return upgrade
      try {
        const { rev } = await this.#store.put({ ...upgrade, ...changed })
        const after = { ...upgrade, ...changed, _rev: rev } as UpgradeDocument
        await this.#show(after)
        return after
      } catch (thrown) {
        if (!isFailure(thrown, 'document_conflict') || attempt === ATTEMPTS_MAX) throw thrown
      }
    }
  }

  /** The copy goes first: as long as there is anything, somebody comes back. */
  async remove(id: string): Promise<void> {
    const isOurs = async (): Promise<boolean> => (await this.read())?.upgrade_log_id === id
    for (const database of [this.#shown, this.#store]) {
      await rewrite(database, async stored =>
        stored !== undefined && (await isOurs()) ? { _deleted: true } : undefined,
      )
    }
  }

  async #show(upgrade: JsonObject): Promise<void> {
    await rewrite(this.#shown, async () => upgrade)
  }
}

/** @param make gives undefined where nothing is to be written */
async function rewrite(
  database: DocumentDatabase,
  make: (stored: Document | undefined) => Promise<JsonObject | undefined>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const stored = await database.get(UPGRADE_ID)
    const wanted = await make(stored)
    if (wanted === undefined) return
    try {
      await database.put({ ...without(wanted, '_rev'), _id: UPGRADE_ID, ...revisionOf(stored) })
      return
    } catch (thrown) {
      if (!isFailure(thrown, 'document_conflict') || attempt === ATTEMPTS_MAX) throw thrown
    }
  }
}

const revisionOf = (stored: Document | undefined): { readonly _rev?: string } =>
  stored?._rev === undefined ? {} : { _rev: stored._rev }

const isUpgrade = (document: Document): document is UpgradeDocument =>
  Array.isArray(document.log) &&
  isObject(document.build_info) &&
  typeof document.upgrade_log_id === 'string'

const inTheWay = (): Failure =>
  new Failure('document_conflict', { reason: 'There is an upgrade already.' })
