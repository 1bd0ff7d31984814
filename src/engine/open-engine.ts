/**
 * From configuration to engine. The one place that names the adapters; each is loaded only when it
 * is chosen, and comes wrapped: checked, then metered.
 */
import { Failure } from '../base/errors.ts'
import { CheckedEngine } from './checked-engine.ts'
import type { Engine, StoreId } from './engine.ts'
import { MeteredEngine } from './metered-engine.ts'

export interface OpenEngineOptions {
  /** `embedded` or `memory`; anything else fails with `config_invalid`. */
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
 * An engine with what is beyond the port: figures, and a hint that another process deleted or
 * compacted a store.
 */
export class OpenedEngine extends MeteredEngine {
  readonly #forget: (id: StoreId) => Promise<void>

  constructor(engine: Engine, forget: (id: StoreId) => Promise<void>) {
    super(new CheckedEngine(engine))
    this.#forget = forget
  }

  /**
   * Lets go of what this process holds open of a store. Never needed for right answers; frees disk
   * space sooner.
   */
  forget(id: StoreId): Promise<void> {
    return this.#forget(id)
  }
}

export async function openEngine(options: OpenEngineOptions): Promise<OpenedEngine> {
  switch (options.kind) {
    case 'memory': {
      const { MemoryEngine } = await import('./memory/memory-engine.ts')
      return new OpenedEngine(new MemoryEngine(), async () => {})
    }
    case 'embedded':
      return openEmbedded(options)
    default:
      throw new Failure('config_invalid', {
        subject: 'engine',
        reason: `unknown engine "${options.kind}": use embedded or memory`,
      })
  }
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
