/**
 * The process that works in the background for the application: one for the whole server, where the application is switched
 * on. It follows the changes of the shared data; nobody asks it anything. When it dies, the next one goes on from where
 * it was.
 */
import { setPriority } from 'node:os'
import { startAlone } from './alone.ts'
import { TOPIC } from './boot.ts'
import { Channel } from './channel.ts'
import { joinTree, leaveTree, pipeToPrimary, refuseToStart } from './worker.ts'

export async function runBackground(): Promise<void> {
  const channel = new Channel(pipeToPrimary())
  try {
    // Whoever waits for an answer comes first.
    setPriority(NICENESS)
    const member = await joinTree(channel, { replicates: false })
    await member.servers.install()
    const { engine, servers, log } = member
    const start = (): void => void servers.background()?.start()
    const alone = startAlone({ name: 'background', engine, start, log })
    channel.on(TOPIC.drain, () => leaveTree(member, alone))
    await channel.request(TOPIC.ready, {})
  } catch (thrown) {
    await refuseToStart(channel, thrown)
  }
}

/** Half of what a worker gets of a core that both want. */
const NICENESS = 3
