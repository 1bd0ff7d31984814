/**
 * The life of an index, kept in its store under one key.
 *
 *     absent    nothing there, or of another format, another ICU or other reducers: start anew
 *     building  a first build is under way; rows wait in sorted runs, nothing can be asked
 *     ready     can be asked; `progress` says up to which change of the database
 *
 * `version` counts every change of the record, so that an update can tell that nobody else changed
 * the index since it read (ETags come from `BlockIndex.info`, which changes only with the rows). The
 * record is JSON: it is small, and whoever looks into a store can read it.
 */
import type { ReadTx, Steps } from '../../engine/engine.ts'
import { STATE_KEY } from './index-keys.ts'
import type { IndexProgress } from './index-rows.ts'

export interface IndexState {
  readonly format: number
  /** Sort keys are only good for the ICU they were made with. */
  readonly collator: string
  /** Names the trees and reducers, in order. */
  readonly shape: string
  readonly incarnation: string
  readonly phase: 'building' | 'ready'
  readonly progress: IndexProgress
  readonly version: number
  readonly nextNode: number
  readonly build: BuildState | undefined
}

/** A first build that can go on after the process died. */
export interface BuildState {
  /** The change at which the build ends; later ones are left to updates. */
  readonly untilSeq: number
  readonly documents: number
  readonly nextRun: number
  readonly runs: readonly RunState[]
}

export interface RunState {
  readonly run: number
  /** How often its rows were merged. */
  readonly level: number
}

/** Version 1: the first. 2: blocks in columns, with what neighbours have in common said once. */
export const INDEX_FORMAT = 2

export function* readState(tx: ReadTx): Steps<IndexState | undefined> {
  const bytes = yield* tx.get(STATE_KEY)
  return bytes === undefined ? undefined : decodeState(bytes)
}

export function decodeState(bytes: Buffer): IndexState {
  const stored = JSON.parse(bytes.toString()) as Omit<IndexState, 'build'> & { build?: BuildState }
  const incarnation = Buffer.from(stored.incarnation, 'hex').toString('latin1')
  return { ...stored, build: stored.build, incarnation }
}

export function encodeState(state: IndexState): Buffer {
  const incarnation = Buffer.from(state.incarnation, 'latin1').toString('hex')
  return Buffer.from(JSON.stringify({ ...state, incarnation }))
}
