/**
 * Where a run keeps its checkpoints: in a local document of either end, under one name. Checkpoints that have the name
 * an earlier version gave them are found too, and get the present one.
 *
 * Promise: a checkpoint stays on an end only if that database is the one the run began with. A database that was
 * deleted and made anew meanwhile knows nothing of what went over before; it is noticed before a checkpoint is written
 * and again after it, since both ends are far away and nothing holds them still in between. Then the checkpoint there
 * is made void, and the run fails: the next one begins from the start.
 */
import { Failure } from '../../base/errors.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { Peer, PeerInfo } from './peer.ts'
import { sequenceNumber } from './peer-sequence.ts'

type LocalDocument = Readonly<Record<string, unknown>>

interface End {
  readonly which: 'source' | 'target'
  readonly peer: Peer
  readonly begun: PeerInfo
}

export interface CheckpointNames {
  readonly checkpointId: string
  /** Newest first. */
  readonly earlierIds: readonly string[]
}

/** What stands in place of a checkpoint that must not be used. */
const VOID: LocalDocument = { history: [] }

export class CheckpointStore {
  readonly #source: End
  readonly #target: End
  readonly #names: CheckpointNames

  constructor(
    names: CheckpointNames,
    source: { readonly peer: Peer; readonly begun: PeerInfo },
    target: { readonly peer: Peer; readonly begun: PeerInfo },
  ) {
    this.#names = names
    this.#source = { which: 'source', ...source }
    this.#target = { which: 'target', ...target }
  }

  /** What the source has, and what the target has. */
  async read(): Promise<[LocalDocument | undefined, LocalDocument | undefined]> {
    return await Promise.all([this.#find(this.#source), this.#find(this.#target)])
  }

  /** Both ends put everything on disk first: a checkpoint must not outlive what it stands for. */
  async write(checkpoint: Checkpoint): Promise<void> {
    const ends = [this.#source, this.#target]
    const starts = await Promise.all(ends.map(({ peer }) => peer.ensureFullCommit()))
    for (const [index, end] of ends.entries()) {
      if (starts[index] !== end.begun.instanceStartTime) throw wasReplaced(end)
    }
    for (const { peer } of ends) await peer.writeLocal(this.#id, checkpoint)
    const infos = await Promise.all(ends.map(({ peer }) => peer.info()))
    const replaced = ends.filter(({ begun }, index) => isAnother(begun, infos[index] as PeerInfo))
    for (const { peer } of replaced) await peer.writeLocal(this.#id, VOID)
    const [first] = replaced
    if (first !== undefined) throw wasReplaced(first)
  }

  get #id(): string {
    return `_local/${this.#names.checkpointId}`
  }

  async #find({ peer }: End): Promise<LocalDocument | undefined> {
    const present = await peer.readLocal(this.#id)
    if (present !== undefined) return present
    const { earlierIds } = this.#names
    const earlier = await Promise.all(earlierIds.map(id => peer.readLocal(`_local/${id}`)))
    const found = earlier.find(each => each !== undefined)
    if (found === undefined) return undefined
    const { _id, _rev, ...checkpoint } = found
    await peer.writeLocal(this.#id, checkpoint)
    return checkpoint
  }
}

/** Servers that do not tell since when a database exists say 0; then it is one whose sequence went back. */
function isAnother(begun: PeerInfo, now: PeerInfo): boolean {
  if (begun.instanceStartTime !== now.instanceStartTime) return true
  if (now.instanceStartTime !== '0') return false
  return sequenceNumber(now.updateSeq) < sequenceNumber(begun.updateSeq)
}

const wasReplaced = ({ which, peer }: End): Failure =>
  new Failure('replication_failed', {
    error: 'checkpoint_commit_failure',
    reason: `the ${which} database ${peer.shownUrl} was replaced meanwhile`,
  })
