/**
 * A process that builds indexes: it reads documents, has them mapped in sandboxes on all cores, and writes the index. The
 * workers ask for it through the primary and read the index themselves. When it dies, another one goes on from what it
 * had saved.
 */
import { setPriority } from 'node:os'
import type { IndexRequest } from '../core/indexing/index-updates.ts'
import { TOPIC } from './boot.ts'
import { Channel } from './channel.ts'
import { joinTree, leaveTree, pipeToPrimary, refuseToStart } from './worker.ts'

export async function runIndexer(): Promise<void> {
  const channel = new Channel(pipeToPrimary())
  try {
    // Whoever reads and writes documents comes first; the sandboxes inherit it.
    setPriority(NICENESS)
    const member = await joinTree(channel, { replicates: false, indexes: true })
    const { indexUpdates } = member.servers
    channel.on(TOPIC.index, (request: IndexRequest) => indexUpdates.bringUp(request))
    channel.on(TOPIC.drain, () => leaveTree(member))
    await channel.request(TOPIC.ready, {})
  } catch (thrown) {
    await refuseToStart(channel, thrown)
  }
}

/** A third of what a worker gets of a core that both want. */
const NICENESS = 5
