/**
 * Transitions in the application: on records that come in as messages, before they are first written, and on documents
 * that were written in any way. Settings and texts are those of the moment a batch begins.
 */
import { randomInt } from 'node:crypto'
import { Failure } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { ServerOperations } from '../../core/operations/operations.ts'
import type { Document } from '../documents/document.ts'
import type { DocumentDatabase, WriteOutcome } from '../documents/document-database.ts'
import { InfoStore } from '../info-documents/info-store.ts'
import { RepeatedMessages } from '../messages/repeated-messages.ts'
import { TranslationStore } from '../messages/translations.ts'
import type { Settings } from '../settings/settings.ts'
import { BatchDatabase } from './batch-database.ts'
import { Desk } from './desk.ts'
import { type EnabledTransitions, enabledTransitions } from './enabled-transitions.ts'
import type { Expressions } from './expressions.ts'
import { Lookups } from './lookups.ts'
import {
  type BatchItem,
  type BatchParts,
  type BatchResult,
  runBatch,
  runOnNew,
} from './run-batch.ts'
import { ShortCodes } from './short-codes.ts'
import type { Transition } from './transition.ts'

export interface TransitionRunnerParts {
  readonly server: ServerOperations
  readonly data: DocumentDatabase
  readonly sentinel: DocumentDatabase
  /** Accounts. */
  readonly users: () => DocumentDatabase
  readonly settings: () => Settings | Promise<Settings>
  readonly expressions: Expressions
  readonly clock: () => number
  readonly log: Log
  readonly queuePushes: BatchParts['queuePushes']
  /** Short ids that are taken at once: many where many are needed. */
  readonly shortCodeCount: number
}

const ATTEMPTS_MAX = 5
/** Records that are stored together. */
const ARRIVALS_MAX = 100

interface Arrival {
  readonly documents: readonly Document[]
  readonly resolve: (outcomes: WriteOutcome[]) => void
  readonly reject: (thrown: unknown) => void
}

export class TransitionRunner {
  readonly #parts: TransitionRunnerParts
  readonly infos: InfoStore
  readonly translations: TranslationStore
  readonly #repeated = new RepeatedMessages()
  readonly #lookups: Lookups
  readonly #shortCodes: ShortCodes
  readonly #arrivals: Arrival[] = []
  #storing: Promise<void> | undefined
  #toldUnknown = ''

  constructor(parts: TransitionRunnerParts) {
    const { data, sentinel, clock, shortCodeCount: count } = parts
    this.#parts = parts
    this.infos = new InfoStore(sentinel, clock)
    this.translations = new TranslationStore(data)
    const lookups = new Lookups(data)
    this.#lookups = lookups
    this.#shortCodes = new ShortCodes({ data, sentinel, lookups, clock, random: randomInt, count })
  }

  /** On documents that are stored. */
  async run(items: readonly BatchItem[]): Promise<BatchResult> {
    const settings = await this.#parts.settings()
    const enabled = enabledTransitions(settings)
    this.#tellUnknown(enabled)
    return runBatch(await this.#batch(settings, enabled.all), items)
  }

  /**
   * Runs what runs on arrival and stores the records with all that follows from them; one outcome each, in order. What
   * arrives while others are stored is gathered and stored together: it costs little more than one record alone.
   */
  storeNew(documents: readonly Document[]): Promise<WriteOutcome[]> {
    return new Promise((resolve, reject) => {
      this.#arrivals.push({ documents, resolve, reject })
      this.#storing ??= this.#storeArrivals().finally(() => {
        this.#storing = undefined
      })
    })
  }

  /** Never rejects. */
  async #storeArrivals(): Promise<void> {
    while (this.#arrivals.length > 0) {
      const arrivals = this.#takeArrivals()
      try {
        const outcomes = await this.#storeBatch(arrivals.flatMap(({ documents }) => documents))
        for (const { documents, resolve } of arrivals) resolve(outcomes.splice(0, documents.length))
      } catch (thrown) {
        const [only] = arrivals
        if (arrivals.length === 1) only?.reject(thrown)
        else for (const each of arrivals) await this.#storeAlone(each)
      }
    }
  }

  /** One of several may be at fault; none of them was stored. */
  async #storeAlone({ documents, resolve, reject }: Arrival): Promise<void> {
    try {
      resolve(await this.#storeBatch(documents))
    } catch (thrown) {
      reject(thrown)
    }
  }

  /** As many as are stored together; of two with the same id the second has to wait and see the first. */
  #takeArrivals(): Arrival[] {
    const ids = new Set<string>()
    const end = this.#arrivals.findIndex(({ documents }, index) => {
      const isTwin = documents.some(({ _id }) => ids.has(_id))
      for (const { _id } of documents) ids.add(_id)
      return index > 0 && (isTwin || ids.size > ARRIVALS_MAX)
    })
    return this.#arrivals.splice(0, end < 0 ? this.#arrivals.length : end)
  }

  async #storeBatch(documents: readonly Document[]): Promise<WriteOutcome[]> {
    const settings = await this.#parts.settings()
    const { onArrival } = enabledTransitions(settings)
    if (onArrival.length === 0) return this.#parts.data.putMany(documents)
    const result = await runOnNew(await this.#batch(settings, onArrival), documents)
    await this.#repeat(result.again, settings, onArrival)
    const failures = new Map(result.failed.map(({ outcome }) => [outcome.id, outcome.failure]))
    return documents.map(({ _id: id }) => {
      const rev = result.written.get(id)
      if (rev !== undefined) return { ok: true, id, rev }
      return { ok: false, id, failure: failures.get(id) ?? new Failure('unexpected') }
    })
  }

  /** What a record does to other documents, where those were changed by somebody else at the same moment. */
  async #repeat(
    ids: readonly string[],
    settings: Settings,
    transitions: readonly Transition[],
  ): Promise<void> {
    let left = ids
    for (let attempt = 1; left.length > 0; attempt++) {
      if (attempt > ATTEMPTS_MAX) {
        // The records are stored; what follows from them for others could not be written down.
        this.#parts.log.error('effects of some records were given up', { ids: left })
        return
      }
      const parts = { ...(await this.#batch(settings, transitions)), forgetsRuns: true }
      const result = await runBatch(
        parts,
        left.map(id => ({ id })),
      )
      left = result.again
    }
  }

  async #batch(settings: Settings, transitions: readonly Transition[]): Promise<BatchParts> {
    const { server, data, expressions, clock, log, queuePushes } = this.#parts
    const desk = new Desk({
      data: new BatchDatabase(server, data.name, this.#lookups),
      users: this.#parts.users(),
      infos: this.infos,
      settings,
      translations: await this.translations.current(),
      expressions,
      shortCodes: this.#shortCodes,
      repeated: this.#repeated,
      clock,
    })
    return { desk, infos: this.infos, transitions, log, queuePushes }
  }

  #tellUnknown({ unknown }: EnabledTransitions): void {
    const names = unknown.join(', ')
    if (names !== '' && names !== this.#toldUnknown) {
      this.#parts.log.warning('the settings name transitions that there are not', { names })
    }
    this.#toldUnknown = names
  }
}
