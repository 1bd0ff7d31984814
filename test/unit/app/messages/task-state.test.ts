/** States of messages and the history they leave. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { changeTasks, messagesOf, tasksOf } from '../../../../src/app/messages/message-task.ts'
import { setTaskState } from '../../../../src/app/messages/task-state.ts'

const NOW = Date.UTC(2024, 0, 2)
const NOW_TEXT = '2024-01-02T00:00:00.000Z'

describe('setTaskState', () => {
  it('appends to the history', () => {
    const pending = setTaskState({}, { state: 'pending' }, NOW)
    assert.deepEqual(pending, {
      state: 'pending',
      state_history: [{ state: 'pending', timestamp: NOW_TEXT }],
    })
    const change = { state: 'failed', details: { reason: 'x' }, gatewayRef: 'ref' }
    const failed = setTaskState(pending, change, NOW)
    assert.deepEqual(failed, {
      state: 'failed',
      state_details: { reason: 'x' },
      gateway_ref: 'ref',
      state_history: [
        { state: 'pending', timestamp: NOW_TEXT },
        { state: 'failed', state_details: { reason: 'x' }, timestamp: NOW_TEXT },
      ],
    })
    assert.equal(pending.state_history?.length, 1)
  })

  it('is the same task when nothing changes, whatever the order of the details', () => {
    const details = { a: 1, b: 2 }
    const task = setTaskState({}, { state: 'failed', details, gatewayRef: 'r' }, NOW)
    const again = { state: 'failed', details: { b: 2, a: 1 }, gatewayRef: 'r' }
    assert.equal(setTaskState(task, again, NOW + 1), task)
    assert.notEqual(setTaskState(task, { ...again, gatewayRef: 'other' }, NOW), task)
    assert.notEqual(setTaskState(task, { ...again, details: 1 }, NOW), task)
  })

  it('forgets what was known about the former state', () => {
    const task = setTaskState({}, { state: 'failed', details: 1, gatewayRef: 'r' }, NOW)
    const sent = setTaskState(task, { state: 'sent' }, NOW)
    assert.equal('state_details' in sent, false)
    assert.equal('gateway_ref' in sent, false)
  })

  it('writes down a state that the history does not end with', () => {
    const task = { state: 'sent', state_history: [] }
    assert.equal(setTaskState(task, { state: 'sent' }, NOW).state_history?.length, 1)
  })
})

describe('tasks of a document', () => {
  const document = {
    tasks: [{ state: 'pending', messages: [{ uuid: 'a' }, null] }, 'odd'],
    scheduled_tasks: [{ state: 'scheduled' }],
  }

  it('are immediate ones, then scheduled ones', () => {
    assert.deepEqual(
      tasksOf(document).map(({ state }) => state),
      ['pending', 'scheduled'],
    )
    assert.deepEqual(tasksOf({ tasks: 'no list' }), [])
    assert.deepEqual(messagesOf(tasksOf(document)[0] ?? {}), [{ uuid: 'a' }])
  })

  it('are changed in a copy, or not at all', () => {
    assert.equal(
      changeTasks(document, task => task),
      document,
    )
    const changed = changeTasks(document, (task, list) =>
      list === 'tasks' ? { ...task, state: 'sent' } : task,
    )
    assert.deepEqual(changed.tasks, [{ state: 'sent', messages: [{ uuid: 'a' }, null] }, 'odd'])
    assert.equal(changed.scheduled_tasks, document.scheduled_tasks)
    assert.equal((document.tasks[0] as { state: string }).state, 'pending')
  })
})
