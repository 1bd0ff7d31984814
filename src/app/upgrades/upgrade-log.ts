/**
 * `upgrade_log:{ms}:{version}` in the database of logs: one document per upgrade, kept for ever, with its states and
 * their times. Observers of today's product read it, and later ones learn from it when what was deployed.
 */
import { isFailure } from '../../base/errors.ts'
import { type Document, isObject, type JsonObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import type { BuildName } from './build.ts'

export type UpgradeState =
  | 'initiated'
  | 'staged'
  | 'indexing'
  | 'indexed'
  | 'completing'
  | 'complete'
  | 'finalizing'
  | 'finalized'
  | 'aborting'
  | 'aborted'
  | 'errored'

export interface NewUpgradeLog {
  readonly user: string
  readonly action: 'install' | 'stage'
  readonly from: JsonObject
  readonly to: BuildName
}

const ATTEMPTS_MAX = 10

export const upgradeLogId = ({ version }: BuildName, nowMs: number): string =>
  `upgrade_log:${nowMs}:${version}`

export class UpgradeLogs {
  readonly #logs: DocumentDatabase
  readonly #clock: () => number

  constructor(logs: DocumentDatabase, clock: () => number) {
    this.#logs = logs
    this.#clock = clock
  }

  read(id: string): Promise<Document | undefined> {
    return this.#logs.get(id)
  }

  async create(id: string, given: NewUpgradeLog): Promise<void> {
    const nowMs = this.#clock()
    const state: UpgradeState = 'initiated'
    await this.#logs.put({
      _id: id,
      ...given,
      action: given.action === 'install' ? 'upgrade' : 'stage',
      start_date: nowMs,
      updated_date: nowMs,
      state,
      state_history: [{ state, date: nowMs }],
    })
  }

  /** A state that it is in already, as after a crash, is not noted twice. Nothing where the log was removed. */
  async enter(id: string, state: UpgradeState): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const stored = await this.#logs.get(id)
      if (stored === undefined || stored.state === state) return
      const date = this.#clock()
      const history = Array.isArray(stored.state_history)
        ? stored.state_history.filter(isObject)
        : []
      try {
        const state_history = [...history, { state, date }]
        await this.#logs.put({ ...stored, state, updated_date: date, state_history })
        return
      } catch (thrown) {
        if (!isFailure(thrown, 'document_conflict') || attempt === ATTEMPTS_MAX) throw thrown
      }
    }
  }
}
