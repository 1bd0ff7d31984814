/**
 * From configuration to engine. The one place that names the adapters; each is loaded only when it
 * is chosen, and comes wrapped: checked, then metered.
 */
import { Failure } from '../base/errors.ts'
import { CheckedEngine } from './checked-engine.ts'
import type { Engine, StoreId } from './engine.ts'
import { MeteredEngine } from './metered-engine.ts'
import type { Peers } from './peers.ts'
import { isServerAddress } from './postgres/server-address.ts'

export interface OpenEngineOptions {
  /** `embedded`, `memory` or `postgres://…`; anything else fails with `config_invalid`. */
  readonly kind: string
  /** Where the data lives; needed by engines that persist. */
  readonly folder?: string
  /** Files open at once in this process (embedded). */
  readonly openStoresMax?: number
  /**
   * Take the folder for this process tree (embedded): nobody else may use it, and what crashed
   * processes left behind is cleared. For the primary, before it starts children; children open
   * without.
   */
  readonly exclusive?: boolean
}

/**
 * An engine with what is beyond the port: figures, a hint that another process deleted or compacted
 * a store, and other nodes.
 */
export class OpenedEngine extends MeteredEngine {
  readonly #forget: (id: StoreId) => Promise<void>
  /** Undefined where no other node can be. */
  readonly peers: Peers | undefined

  constructor(engine: Engine, forget: (id: StoreId) => Promise<void>, peers?: Peers) {
    super(new CheckedEngine(engine))
    this.#forget = forget
    this.peers = peers
  }

  /**
   * Lets go of what this process holds open of a store. Never needed for right answers; frees disk
   * space sooner.
   */
  forget(id: StoreId): Promise<void> {
    return this.#forget(id)
  }
}

/** Several machines may share what this names. */
export const isSharedByNodes = (kind: string): boolean => isServerAddress(kind)

export async function openEngine(options: OpenEngineOptions): Promise<OpenedEngine> {
  switch (options.kind) {
    case 'memory': {
      const { MemoryEngine } = await import('./memory/memory-engine.ts')
      return new OpenedEngine(new MemoryEngine(), async () => {})
    }
    case 'embedded':
      return openEmbedded(options)
    default:
      if (isServerAddress(options.kind)) return openPostgres(options)
      throw new Failure('config_invalid', {
        subject: 'engine',
        reason: `unknown engine "${options.kind}": use embedded, memory or postgres://…`,
      })
  }
}

/** The folder holds no data then, only what is this node's own; it is taken all the same. */
async function openPostgres({
  kind,
  folder,
  exclusive = false,
}: OpenEngineOptions): Promise<OpenedEngine> {
  const { PostgresEngine } = await import('./postgres/postgres-engine.ts')
  const { PostgresPeers } = await import('./postgres/postgres-peers.ts')
  const engine = await PostgresEngine.open({ address: kind, sweep: exclusive })
  if (exclusive && folder !== undefined) {
    const { prepareFolder } = await import('./embedded/prepare-folder.ts')
    const { lockDataFolder } = await import('./embedded/data-folder-lock.ts')
    await prepareFolder(folder, 'postgres')
    await lockDataFolder(folder)
  }
  return new OpenedEngine(engine, async () => {}, new PostgresPeers(engine))
}

async function openEmbedded(options: OpenEngineOptions): Promise<OpenedEngine> {
  const { folder, openStoresMax, exclusive = false } = options
  if (folder === undefined || folder === '') {
    throw new Failure('config_invalid', { subject: 'folder', reason: 'a data folder is needed' })
  }
  if (openStoresMax !== undefined && !(Number.isSafeInteger(openStoresMax) && openStoresMax > 0)) {
    throw new Failure('config_invalid', {
      subject: 'openStoresMax',
      reason: 'use a whole number above 0',
    })
  }
  const { prepareFolder } = await import('./embedded/prepare-folder.ts')
  const { EmbeddedEngine } = await import('./embedded/embedded-engine.ts')
  await prepareFolder(folder, 'embedded')
  if (exclusive) {
    const { lockDataFolder } = await import('./embedded/data-folder-lock.ts')
    await lockDataFolder(folder)
  }
  const engine = await EmbeddedEngine.open({
    folder,
    ...(openStoresMax === undefined ? {} : { openStoresMax }),
    sweep: exclusive,
  })
  return new OpenedEngine(engine, id => engine.forget(id))
}
