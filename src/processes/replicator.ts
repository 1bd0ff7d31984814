/**
 * The process that replicates: one for the whole server, beside the HTTP workers. It reads and writes the shared
 * data, follows the documents that ask for replications, and does what workers ask it through the primary. When it
 * dies, the next one goes on from documents and checkpoints.
 */
import type { SchedulerQuery } from '../core/operations/replication-operations.ts'
import { TOPIC } from './boot.ts'
import { Channel } from './channel.ts'
import type { ReplicateCall } from './replicator-link.ts'
import { joinTree, leaveTree, pipeToPrimary, refuseToStart } from './worker.ts'

export async function runReplicator(): Promise<void> {
  const channel = new Channel(pipeToPrimary())
  try {
    await startReplicator(channel)
  } catch (thrown) {
    await refuseToStart(channel, thrown)
  }
}

async function startReplicator(channel: Channel): Promise<void> {
  const member = await joinTree(channel, { replicates: true })
  const { replication } = member.servers
  channel.on(TOPIC.replicate, ({ user, body }: ReplicateCall) => replication.replicate(user, body))
  channel.on(TOPIC.replicationJobs, () => replication.jobs())
  channel.on(TOPIC.replicationDocuments, (query: SchedulerQuery) => replication.documents(query))
  channel.on(TOPIC.drain, () => leaveTree(member))
  await channel.request(TOPIC.ready, {})
}
