/**
 * Work that one process of all nodes does: begun at once where there is one node only, else when the lease for it can be
 * had. A process that loses the lease ends, for what it has begun cannot be taken back; its successor waits for its turn.
 */
import type { Log } from '../base/log.ts'
import { acquireLease, type Lease } from '../core/database/lease.ts'
import type { Engine } from '../engine/engine.ts'
import { CLUSTER_STORE, leaseKey } from './node-registry.ts'

export interface LoneWork {
  readonly name: string
  readonly engine: Engine
  readonly start: () => void
  readonly log: Log
}

export interface Alone {
  /** The work has ended: others may begin. Before the engine is closed. */
  end(): Promise<void>
}

const RETRY_MS = 1000

export function startAlone(work: LoneWork): Alone {
  if (!work.engine.supports.manyNodes) {
    work.start()
    return { end: async () => {} }
  }
  const stop = new AbortController()
  const lease = waitForTurn(work, stop.signal)
  return {
    end: async () => {
      stop.abort()
      await (await lease)?.release()
    },
  }
}

async function waitForTurn(work: LoneWork, signal: AbortSignal): Promise<Lease | undefined> {
  const { engine, name, log } = work
  const place = { store: engine.store(CLUSTER_STORE), key: leaseKey(name) }
  while (!signal.aborted) {
    try {
      const lease = await acquireLease(place, { signal })
      if (lease === undefined) return undefined
      lease.onLost = () => {
        if (signal.aborted) return
        log.warning('another node may do this by now: starting over', { work: name })
        process.exit(1)
      }
      log.info('this node does it for all', { work: name })
      work.start()
      return lease
    } catch (error) {
      if (signal.aborted) return undefined
      log.warning('a lease cannot be had', { work: name, error: String(error) })
      await new Promise(resolve => setTimeout(resolve, RETRY_MS))
    }
  }
  return undefined
}
