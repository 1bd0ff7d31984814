/**
 * What the application does without being asked: transitions on every change, messages when they are due, pushes to
 * other systems, and the housekeeping of its databases. One process of a server does it.
 *
 * Regular work runs every few minutes, one job after the other; a job that fails is told and tried again the next time,
 * and keeps no other from its turn.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../base/log.ts'
import type { Application } from './application.ts'
import { readLocal, writeLocal } from './documents/local-document.ts'
import { FormWatcher } from './forms/form-watcher.ts'
import { sendDueTasks } from './schedules/due-tasks.ts'
import { startOfDay } from './schedules/offset.ts'
import { sendReminders } from './schedules/reminders.ts'
import { MessagePusher } from './sms/message-pusher.ts'
import { ChangeProcessor } from './transitions/process-changes.ts'
import { cleanUp } from './upkeep/clean-up.ts'
import { copyUsersMeta } from './upkeep/copy-users-meta.ts'
import { purgeOnSchedule } from './upkeep/purge-for-roles.ts'

const REGULAR_MS = 5 * 60_000
const PUSH_MESSAGES_MS = 60_000
/** Two in the morning. */
const NIGHT_MS = 2 * 3_600_000
const REGULAR = 'regular work'
const DAILY = '_local/background-daily'

export class BackgroundWork {
  readonly #application: Application
  readonly #log: Log
  readonly #processor: ChangeProcessor
  readonly #messages: MessagePusher
  readonly #forms: FormWatcher
  readonly #stop = new AbortController()
  readonly #timers: NodeJS.Timeout[] = []
  /** Jobs under way, by name: none runs beside itself. */
  readonly #running = new Map<string, Promise<void>>()

  constructor(application: Application, log: Log) {
    this.#application = application
    this.#log = log
    const { data, sentinel, transitions } = application
    this.#forms = new FormWatcher({
      data,
      transformer: application.formTransformer,
      onFailure: (what, facts) => log.warning(what, facts),
    })
    this.#messages = new MessagePusher({
      context: () => application.context(),
      credentials: application.credentials,
      onLack: what => log.warning('messages cannot be pushed', { lacks: what }),
    })
    this.#processor = new ChangeProcessor({
      data,
      sentinel,
      run: items => transitions.run(items),
      log,
      wait: (ms, signal) => delay(ms, undefined, { signal }),
      onBatch: ids => this.#afterBatch(ids),
    })
  }

  start(): void {
    this.#processor.start()
    this.#forms.start()
    const every = (ms: number, work: () => unknown): void => {
      this.#timers.push(setInterval(work, ms).unref())
    }
    every(REGULAR_MS, () => this.runRegular())
    every(PUSH_MESSAGES_MS, () => this.#pushMessages())
    void this.runRegular()
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    this.#stop.abort()
    await this.#processor.close()
    await this.#forms.close()
    await Promise.all(this.#running.values())
  }

  /** Resolves when transitions have run on everything that was there at the call. */
  caughtUp(): Promise<void> {
    return this.#processor.caughtUp()
  }

  /** Everything that is done from time to time; a whole run that begins after the call. */
  async runRegular(): Promise<void> {
    await this.#running.get(REGULAR)
    return this.#once(REGULAR, async () => {
      for (const [name, job] of Object.entries(this.#jobs())) {
        if (this.#stop.signal.aborted) return
        try {
          await job()
        } catch (error) {
          if (!this.#stop.signal.aborted) this.#log.error(`${name} failed`, { error })
        }
      }
    })
  }

  #jobs(): Record<string, () => Promise<unknown>> {
    const { server, data, sentinel, clock, transitions, usersMeta, outbound } = this.#application
    const { signal } = this.#stop
    const context = () => this.#application.context()
    const translations = () => transitions.translations.current()
    const warn = (message: string, facts: Readonly<Record<string, unknown>>): void =>
      this.#log.warning(message, facts)
    return {
      'sending due messages': async () =>
        sendDueTasks(await context(), await translations(), signal),
      'sending reminders': async () =>
        sendReminders(
          { context: await context(), sentinel, translations: await translations(), warn },
          signal,
        ),
      'pushing to other systems': () => outbound.runAll(signal),
      'cleaning up': () => cleanUp({ server, data, sentinel, clock }, signal),
      'gathering telemetry': () =>
        this.#daily('users-meta', () => copyUsersMeta(server, usersMeta, signal)),
      purging: () => purgeOnSchedule(this.#application, this.#log, signal),
    }
  }

  /** Once a night, or as soon as possible after one that was missed. */
  async #daily(name: string, work: () => Promise<unknown>): Promise<void> {
    const { sentinel, clock } = this.#application
    const nowMs = clock()
    const todayMs = startOfDay(nowMs) + NIGHT_MS
    const dueMs = nowMs >= todayMs ? todayMs : todayMs - 86_400_000
    const kept = (await readLocal(sentinel, DAILY)) ?? {}
    const lastMs = kept[name]
    if (typeof lastMs === 'number' && lastMs >= dueMs) return
    await work()
    const latest = (await readLocal(sentinel, DAILY)) ?? {}
    await writeLocal(sentinel, DAILY, { ...latest, [name]: nowMs })
  }

  #afterBatch(ids: readonly string[]): void {
    const { outbound } = this.#application
    const { signal } = this.#stop
    if (outbound.isWaiting) void this.#once('pushes', () => outbound.runAdded(signal))
    if (ids.length > 0) this.#pushMessages()
  }

  #pushMessages(): void {
    void this.#once('messages', () => this.#messages.run(this.#stop.signal))
  }

  /** Not beside itself; what fails is told. */
  #once(name: string, work: () => Promise<unknown>): Promise<void> {
    const known = this.#running.get(name)
    if (known !== undefined) return known
    const running = (async () => {
      try {
        await work()
      } catch (error) {
        if (!this.#stop.signal.aborted) this.#log.error(`${name} failed`, { error })
      } finally {
        this.#running.delete(name)
      }
    })()
    this.#running.set(name, running)
    return running
  }
}
