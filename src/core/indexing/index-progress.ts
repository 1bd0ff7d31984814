/**
 * How far the update of an index has come, told to operators: a line among the active tasks, and lines in the log for
 * updates that take long. `done` counts changes of the database, not rows.
 */
import type { Log } from '../../base/log.ts'
import type { ActiveTasks, TaskHandle } from '../tasks/active-tasks.ts'

/** Updates shorter than this leave no line in the log, longer ones one each time. */
const LOG_MS = 10_000
/** Somebody who looks at the tasks need not see more. */
const TASK_MS = 200

export interface ProgressParts {
  readonly tasks: ActiveTasks
  readonly log: Log
  readonly clock: () => number
}

export interface ProgressSubject {
  readonly database: string
  readonly designId: string
  readonly total: number
}

export class IndexProgressReport {
  readonly #parts: ProgressParts
  readonly #subject: ProgressSubject
  readonly #task: TaskHandle
  readonly #startedMs: number
  #loggedMs: number
  #shownMs: number
  #done = 0

  constructor(parts: ProgressParts, subject: ProgressSubject) {
    this.#parts = parts
    this.#subject = subject
    this.#startedMs = parts.clock()
    this.#loggedMs = this.#startedMs
    this.#shownMs = this.#startedMs
    this.#task = parts.tasks.start('indexer', {
      database: subject.database,
      design_document: subject.designId,
      progress: 0,
      changes_done: 0,
      total_changes: subject.total,
    })
  }

  add(changes: number): void {
    this.#done += changes
    const nowMs = this.#parts.clock()
    if (nowMs - this.#shownMs >= TASK_MS) this.#show(nowMs)
    if (nowMs - this.#loggedMs < LOG_MS) return
    this.#loggedMs = nowMs
    this.#log('an index is being built', nowMs)
  }

  end(): void {
    this.#task.end()
    const nowMs = this.#parts.clock()
    if (nowMs - this.#startedMs >= LOG_MS) this.#log('an index was built', nowMs)
  }

  #show(nowMs: number): void {
    this.#shownMs = nowMs
    this.#task.update({ progress: this.#percent, changes_done: this.#done })
  }

  get #percent(): number {
    const { total } = this.#subject
    return total === 0 ? 100 : Math.min(100, Math.floor((100 * this.#done) / total))
  }

  #log(message: string, nowMs: number): void {
    const { database, designId, total } = this.#subject
    const seconds = Math.max(0.001, (nowMs - this.#startedMs) / 1000)
    this.#parts.log.info(message, {
      database,
      design: designId,
      progress: this.#percent,
      done: this.#done,
      total,
      perSecond: Math.round(this.#done / seconds),
    })
  }
}
