/**
 * The process that replicates: one for the whole server, beside the HTTP workers. It reads and writes the shared data,
 * follows the documents that ask for replications, and does what workers ask it through the primary. When it dies, the
 * next one goes on from documents and checkpoints. Of several nodes one follows the documents; requests run where they
 * come in.
 */
import type { SchedulerQuery } from '../core/operations/replication-operations.ts'
import { startAlone } from './alone.ts'
import { TOPIC } from './boot.ts'
import { Channel } from './channel.ts'
import type { ReplicateCall } from './replicator-link.ts'
import { SharedScheduler } from './shared-scheduler.ts'
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
  const { engine, servers, log, boot } = member
  const { replication } = servers
  const scheduler = engine.supports.manyNodes
    ? new SharedScheduler({
        engine,
        nodeName: boot.nodeName,
        own: replication,
        clock: Date.now,
        warn: (message, facts) => log.warning(message, facts),
      })
    : undefined
  const told = scheduler ?? replication
  channel.on(TOPIC.replicate, ({ user, body }: ReplicateCall) => replication.replicate(user, body))
  channel.on(TOPIC.replicationJobs, () => told.jobs())
  channel.on(TOPIC.replicationDocuments, (query: SchedulerQuery) => told.documents(query))
  const start = (): void => {
    if (scheduler === undefined) return
    scheduler.isFollowing = true
    servers.startBackground()
  }
  const alone = startAlone({ name: 'replicator', engine, start, log })
  channel.on(TOPIC.drain, async () => {
    await scheduler?.close()
    await leaveTree(member, alone)
  })
  await channel.request(TOPIC.ready, {})
}
