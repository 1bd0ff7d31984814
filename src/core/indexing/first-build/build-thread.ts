/**
 * The program of a thread of a first build (`build-threads.ts`): runs the task it is given, hands over each piece it
 * makes, and rests when it is as far ahead as it may be or waits for a chunk.
 */
import { parentPort } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { openCollator } from '../../../base/collate/collator.ts'
import { type BuildTask, startTask, type TaskStep } from './build-task.ts'
import { type FromThread, type ToThread, writeBlocks } from './thread-messages.ts'

assert(parentPort !== null, 'this program is for a thread')
const port = parentPort
const collator = openCollator()
let task: BuildTask | undefined
/** Pieces that may be made now. */
let credit = 0
let isWaiting = false

port.on('message', (message: ToThread) => {
  if (message.kind === 'start') {
    task = startTask(message.plan, collator)
    credit = message.ahead
    goOn(undefined)
  } else if (message.kind === 'more') {
    credit++
    goOn(undefined)
  } else {
    isWaiting = false
    goOn(message.chunk === undefined ? undefined : Buffer.from(message.chunk))
  }
})

function goOn(given: Buffer | undefined): void {
  let chunk = given
  while (task !== undefined && credit > 0 && !isWaiting) {
    const step = task.next(chunk)
    chunk = undefined
    if (step.done === true) {
      task = undefined
      say({ kind: 'ended', latest: step.value })
    } else handOver(step.value)
  }
}

function handOver(step: TaskStep): void {
  if (step.kind === 'wanted') {
    isWaiting = true
    say(step)
    return
  }
  credit--
  if (step.kind === 'blocks') {
    const message = writeBlocks(step.blocks)
    say(message, [message.bytes, message.numbers.buffer as ArrayBuffer])
  } else {
    const chunk = step.chunk.buffer as ArrayBuffer
    say({ kind: 'stretches', chunk }, [chunk])
  }
}

function say(message: FromThread, transferred: readonly ArrayBuffer[] = []): void {
  port.postMessage(message, transferred)
}

say({ kind: 'ready' })
