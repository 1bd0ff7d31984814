/** Marks messages as sent without sending any: for demonstrations, where nobody is to be bothered. */
import { changeTasks, tasksOf } from '../../messages/message-task.ts'
import { setTaskState } from '../../messages/task-state.ts'
import type { Transition } from '../transition.ts'

export const resolvePending: Transition = {
  name: 'resolve_pending',
  runsOnArrival: true,
  repeats: true,
  isFor: ({ stored }) => tasksOf(stored).some(({ state }) => state === 'pending'),
  async run(work) {
    const nowMs = work.desk.clock()
    const { tasks, scheduled_tasks: scheduled } = changeTasks(work.stored, task =>
      task.state === 'pending' ? setTaskState(task, { state: 'sent' }, nowMs) : task,
    )
    work.set({
      ...(tasks === undefined ? {} : { tasks }),
      ...(scheduled === undefined ? {} : { scheduled_tasks: scheduled }),
    })
    return true
  },
}
