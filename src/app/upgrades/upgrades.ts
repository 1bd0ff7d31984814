/**
 * Upgrades as the application offers them: begun, completed, given up, looked at. What is asked for is written down and
 * done later, by whichever process comes first; when that one dies, another goes on. All processes look now and then
 * whether there is something to do, for nobody tells them of the death of another.
 */
import { Failure } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { applicationDatabase } from '../../base/product-names.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { ServerOperations } from '../../core/operations/operations.ts'
import type { Document } from '../documents/document.ts'
import { DocumentDatabase } from '../documents/document-database.ts'
import type { BuildName } from './build.ts'
import { deployInfoOf } from './deploy-info.ts'
import { runUpgrade } from './run-upgrade.ts'
import { STAGED_PREFIX } from './staged-design.ts'
import { type ContextParts, UpgradeContext, UpgradeGone } from './upgrade-context.ts'
import {
  errorEntry,
  hasBegun,
  type IndexerProgress,
  needsWork,
  type UpgradeDocument,
  UpgradeDocuments,
} from './upgrade-document.ts'
import { type LeaseTiming, UpgradeLease } from './upgrade-lease.ts'
import { UpgradeLogs, upgradeLogId } from './upgrade-log.ts'
import { indexersAt } from './warm-indexes.ts'

export interface UpgradesParts {
  readonly server: ServerOperations
  readonly data: DocumentDatabase
  readonly logs: DocumentDatabase
  readonly clock: () => number
  readonly log: Log
}

export interface UpgradeView {
  readonly upgradeDoc?: Document
  readonly indexers: readonly IndexerProgress[]
  readonly buildsUrl: string
}

const LOOK_MS = 1000
const HEAR_MS = 1000
const LEASE: LeaseTiming = { leaseMs: 4000, renewMs: 1000 }

export class Upgrades {
  readonly #parts: UpgradesParts
  readonly #documents: UpgradeDocuments
  readonly #logs: UpgradeLogs
  readonly #lease: UpgradeLease
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #work: Promise<void> | undefined

  constructor(parts: UpgradesParts) {
    this.#parts = parts
    this.#documents = new UpgradeDocuments(parts.logs, parts.data)
    this.#logs = new UpgradeLogs(parts.logs, parts.clock)
    this.#lease = new UpgradeLease(parts.logs, LEASE)
  }

  /** From now on this process works on whatever upgrade there is. */
  start(): void {
    this.#timer = setInterval(() => this.#wake(), LOOK_MS).unref()
    this.#wake()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#stop.abort(new UpgradeGone())
    await this.#work
  }

  /** Fails with `document_conflict` while there is an upgrade. */
  async begin(action: 'stage' | 'install', build: BuildName, user: string): Promise<void> {
    const { clock, data } = this.#parts
    const created = clock()
    const id = upgradeLogId(build, created)
    const design = await data.get(`_design/${data.name}`)
    const from = design === undefined ? {} : deployInfoOf(design)
    await this.#logs.create(id, { user, action, from, to: build })
    try {
      await this.#documents.create({
        schema_version: 1,
        user,
        created,
        action,
        build_info: build,
        upgrade_log_id: id,
        log: [],
      })
    } catch (thrown) {
      await this.#logs.enter(id, 'aborted')
      throw thrown
    }
    this.#wake()
  }

  /** Fails with `document_missing` when nothing is staged. */
  async complete(user: string): Promise<void> {
    const upgrade = await this.#documents.read()
    if (upgrade?.staging_complete !== true || upgrade.action === 'abort') throw notStaged()
    const changed = await this.#documents.change(upgrade.upgrade_log_id, ({ log }) => ({
      action: 'complete',
      completed_by: user,
      // A failed attempt is no obstacle to the next.
      log: log.filter(({ type }) => type !== 'error'),
    }))
    if (changed === undefined) throw notStaged()
    this.#wake()
  }

  /** Nothing where there is none; fails with `document_conflict` once it is being completed. */
  async abort(): Promise<void> {
    const upgrade = await this.#documents.read()
    if (upgrade === undefined) return
    if (hasBegun(upgrade, 'deploying')) {
      throw new Failure('document_conflict', { reason: 'The upgrade is being completed.' })
    }
    await this.#documents.change(upgrade.upgrade_log_id, () => ({ action: 'abort' }))
    this.#wake()
  }

  async read(): Promise<UpgradeView> {
    const upgrade = await this.#documents.read()
    const document = upgrade && (await this.#logs.read(upgrade.upgrade_log_id))
    const tasks = await this.#parts.server.tasks()
    return {
      ...(document === undefined ? {} : { upgradeDoc: document }),
      indexers: indexersAt(tasks, STAGED_PREFIX),
      buildsUrl: withoutPassword(this.#buildsUrl),
    }
  }

  get canUpgrade(): boolean {
    return this.#buildsUrl !== ''
  }

  get #buildsUrl(): string {
    return this.#parts.server.configuration.get(SETTINGS.buildsUrl)
  }

  #wake(): void {
    if (this.#work !== undefined || this.#stop.signal.aborted) return
    this.#work = this.#lookAndWork()
      .catch(error => this.#parts.log.warning('an upgrade could not be worked on', { error }))
      .finally(() => {
        this.#work = undefined
      })
  }

  async #lookAndWork(): Promise<void> {
    const upgrade = await this.#documents.read()
    if (upgrade === undefined || !needsWork(upgrade)) return
    await this.#lease.hold(signal => this.#run(signal), this.#stop.signal)
  }

  /** Until there is nothing left to do: somebody may have asked for more meanwhile. */
  async #run(held: AbortSignal): Promise<void> {
    for (;;) {
      const upgrade = await this.#documents.read()
      if (held.aborted || upgrade === undefined || !needsWork(upgrade)) return
      const givenUp = new AbortController()
      const timer = setInterval(() => void this.#hear(upgrade, givenUp), HEAR_MS)
      try {
        const signal = AbortSignal.any([held, givenUp.signal])
        await runUpgrade(new UpgradeContext(this.#contextParts(signal), upgrade))
      } catch (thrown) {
        if (held.aborted) return
        const isGone = thrown instanceof UpgradeGone || givenUp.signal.aborted
        if (!isGone) await this.#fail(upgrade.upgrade_log_id, thrown)
      } finally {
        clearInterval(timer)
      }
    }
  }

  /** Long steps end soon after somebody gave the upgrade up, in whichever process he did. */
  async #hear(running: UpgradeDocument, givenUp: AbortController): Promise<void> {
    try {
      const stored = await this.#documents.read()
      const isSame = stored?.upgrade_log_id === running.upgrade_log_id
      const isWanted = isSame && (stored.action !== 'abort' || running.action === 'abort')
      if (!isWanted) givenUp.abort(new UpgradeGone())
    } catch (error) {
      this.#parts.log.warning('an upgrade could not be looked at', { error })
    }
  }

  #contextParts(signal: AbortSignal): ContextParts {
    const { server, clock } = this.#parts
    return {
      server,
      clock,
      signal,
      documents: this.#documents,
      logs: this.#logs,
      databases: this.#databases(),
      buildsUrl: this.#buildsUrl,
    }
  }

  async #fail(id: string, thrown: unknown): Promise<void> {
    this.#parts.log.error('an upgrade failed', { upgrade: id, error: thrown })
    const { clock } = this.#parts
    const entry = errorEntry(reasonOf(thrown), clock())
    await this.#logs.enter(id, 'errored')
    await this.#documents.change(id, ({ action, log }) => ({
      // One that cannot even be given up must not be tried for ever.
      action: action === 'abort' ? 'stage' : action,
      log: [...log, entry],
    }))
  }

  #databases(): DocumentDatabase[] {
    const { server } = this.#parts
    const names = [
      applicationDatabase(),
      ...['sentinel', 'logs', 'users-meta'].map(part => applicationDatabase(part)),
      server.configuration.get(SETTINGS.authenticationDb),
    ]
    return names.map(name => new DocumentDatabase(server, name))
  }
}

const notStaged = (): Failure =>
  new Failure('document_missing', {
    reason: 'Cannot find a staged upgrade that is ready for completion',
  })

function reasonOf(thrown: unknown): string {
  const { detail, message } = thrown as Partial<Failure>
  return typeof detail?.reason === 'string' ? detail.reason : String(message ?? thrown)
}

function withoutPassword(text: string): string {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  url.username = ''
  url.password = ''
  return url.href
}
