/**
 * The life of an index, kept in its store under one key.
 *
 *     absent    nothing there, or of another format, another ICU or other reducers: start anew
 *     building  a first build is under way; rows wait in sorted runs, nothing can be asked
 *     ready     can be asked; `progress` says up to which change of the database. With a `build` beside it the index
 *               is built anew because it was far behind; what there was is served until that is done
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
  /** Of the rows that can be asked. */
  readonly progress: IndexProgress
  readonly version: number
  readonly nextNode: number
  readonly build: BuildState | undefined
}

/** A build that can go on after the process died. */
export interface BuildState {
  /** What is safely in its runs. */
  readonly progress: IndexProgress
  /** Its nodes have this number or a higher one; lower ones belong to the rows that are served meanwhile. */
  readonly firstNode: number
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

export type BuildingIndex = IndexState & { readonly build: BuildState }

/** Version 1: the first. 2: blocks in columns, with what neighbours have in common said once. */
export const INDEX_FORMAT = 2

export function* readState(tx: ReadTx): Steps<IndexState | undefined> {
  const bytes = yield* tx.get(STATE_KEY)
  return bytes === undefined ? undefined : decodeState(bytes)
}

/** Builds begun by a server that knew only first ones do not say how far they are and where their nodes begin. */
type StoredState = Omit<IndexState, 'build'> & {
  readonly build?: Omit<BuildState, 'progress' | 'firstNode'> & Partial<BuildState>
}

export function decodeState(bytes: Buffer): IndexState {
  const stored = JSON.parse(bytes.toString()) as StoredState
  const incarnation = Buffer.from(stored.incarnation, 'hex').toString('latin1')
  const build = stored.build && { progress: stored.progress, firstNode: 1, ...stored.build }
  return { ...stored, build, incarnation }
}

/** How far an index has come: what can be asked, or before that what its first build has done. */
export const progressOf = ({ phase, progress, build }: IndexState): IndexProgress =>
  phase === 'ready' ? progress : (build?.progress ?? progress)

export function encodeState(state: IndexState): Buffer {
  const incarnation = Buffer.from(state.incarnation, 'latin1').toString('hex')
  return Buffer.from(JSON.stringify({ ...state, incarnation }))
}

export const emptyBuild = (untilSeq: number, firstNode: number): BuildState => ({
  progress: { seq: 0, purgeSeq: 0 },
  firstNode,
  untilSeq,
  documents: 0,
  nextRun: 0,
  runs: [],
})

/** Goes on with what was begun, unless its runs are gone: those may lie in another store. */
export function nextBuild(
  known: IndexState,
  untilSeq: number,
  runsOf: string | undefined,
): BuildingIndex {
  const { build } = known
  const goesOn = build !== undefined && (build.runs.length === 0 || runsOf === known.incarnation)
  const firstNode = build?.firstNode ?? known.nextNode
  return {
    ...known,
    version: known.version + 1,
    build: goesOn ? build : emptyBuild(untilSeq, firstNode),
  }
}
