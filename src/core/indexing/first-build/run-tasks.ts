/**
 * Runs the tasks of a first build (`build-task.ts`): here, one after the other, or on threads of their own
 * (`build-threads.ts`). Whoever has a task run gets what it makes piece by piece, in order, and gives it the chunks it
 * asks for.
 */
import { assert } from '../../../base/assert.ts'
import type { Collator } from '../../../base/collate/collator.ts'
import type { MaybePromise } from '../../../base/maybe-promise.ts'
import type { CutBlock } from './block-cutter.ts'
import { startTask, type TaskPiece, type TaskPlan } from './build-task.ts'
import type { LatestDocuments } from './latest-rows.ts'

/** What a task makes and wants; a plan tells which of these are needed. */
export interface TaskPort {
  readonly blocks?: (blocks: readonly CutBlock[]) => Promise<void>
  readonly stretches?: (chunk: Buffer) => Promise<void>
  readonly chunk?: (run: number) => MaybePromise<Buffer | undefined>
}

/** A piece that nobody takes would be lost rows. */
export async function takePiece(port: TaskPort, piece: TaskPiece): Promise<void> {
  if (piece.kind === 'blocks') {
    assert(port.blocks !== undefined, 'somebody takes the blocks of this task')
    await port.blocks(piece.blocks)
  } else {
    assert(port.stretches !== undefined, 'somebody takes the stretches of this task')
    await port.stretches(piece.chunk)
  }
}

/** Undefined at the end of the run. */
export async function bringChunk(port: TaskPort, run: number): Promise<Buffer | undefined> {
  assert(port.chunk !== undefined, 'somebody has the runs of this task')
  return await port.chunk(run)
}

export interface TaskRunner {
  /** Tasks that run at the same time. */
  readonly width: number
  run(plan: TaskPlan, port: TaskPort): Promise<LatestDocuments>
  close(): Promise<void>
}

/** As many as there are cores, but no more than `countMax`; undefined where there can be none. */
export type StartThreads = (countMax: number) => Promise<TaskRunner | undefined>

export class LocalTasks implements TaskRunner {
  readonly width = 1
  readonly #collator: Collator

  constructor(collator: Collator) {
    this.#collator = collator
  }

  async run(plan: TaskPlan, port: TaskPort): Promise<LatestDocuments> {
    const task = startTask(plan, this.#collator)
    let chunk: Buffer | undefined
    for (;;) {
      const step = task.next(chunk)
      chunk = undefined
      if (step.done === true) return step.value
      const { value } = step
      if (value.kind === 'wanted') chunk = await bringChunk(port, value.run)
      else await takePiece(port, value)
    }
  }

  async close(): Promise<void> {}
}

/**
 * Runs works by turns, as many at once as there is room for. After a failure none is begun, and those under way are
 * waited for: nothing they write may come after what the next build writes under the same numbers.
 */
export async function runAll(
  width: number,
  works: readonly (() => Promise<void>)[],
): Promise<void> {
  let next = 0
  const line = async (): Promise<void> => {
    try {
      for (let work = works[next++]; work !== undefined; work = works[next++]) await work()
    } catch (thrown) {
      next = works.length
      throw thrown
    }
  }
  const lines = Array.from({ length: Math.min(width, works.length) }, line)
  const failed = (await Promise.allSettled(lines)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}
