/**
 * What becomes of a message on its way, and the history it leaves. Pure.
 *
 * Typical life: `pending`, `forwarded-to-gateway`, `received-by-gateway`, `forwarded-by-gateway`, `sent`, `delivered`;
 * steps may be left out. Whoever sets a state also says what is known about it: details and the gateway's reference of
 * the former state do not outlive it.
 */
import { isSameJson, without } from '../documents/document.ts'
import type { MessageTask, StateEntry } from './message-task.ts'

export interface StateChange {
  readonly state: string
  readonly details?: unknown
  readonly gatewayRef?: string | undefined
}

/** The same task when nothing of it would change; else a copy with one more entry in its history. */
export function setTaskState(task: MessageTask, change: StateChange, nowMs: number): MessageTask {
  const { state, details, gatewayRef } = change
  const history = Array.isArray(task.state_history) ? task.state_history : []
  const isSame =
    task.state === state &&
    history.at(-1)?.state === state &&
    isSameJson(task.state_details, details) &&
    task.gateway_ref === gatewayRef
  if (isSame) return task
  const known = details === undefined ? {} : { state_details: details }
  const entry: StateEntry = { state, ...known, timestamp: new Date(nowMs).toISOString() }
  return {
    ...without(task, 'state_details', 'gateway_ref'),
    state,
    ...known,
    ...(gatewayRef === undefined ? {} : { gateway_ref: gatewayRef }),
    state_history: [...history, entry],
  }
}

/** A task that is new, with the first entry of its history. */
export const newTask = (members: MessageTask, change: StateChange, nowMs: number): MessageTask =>
  setTaskState(members, change, nowMs)

/** Nothing more is to come. */
export const FINAL_STATES: readonly string[] = [
  'sent',
  'delivered',
  'failed',
  'denied',
  'cleared',
  'muted',
  'duplicate',
]
