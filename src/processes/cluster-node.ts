/**
 * This node among those that share an engine, in the primary: it is registered, hears and tells, follows the shared
 * configuration, and clears away what a crash anywhere left behind. Joins the parts that have files of their own.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../base/log.ts'
import { Catalog } from '../core/database/catalog.ts'
import { type Notice, Notices } from '../core/notices/notices.ts'
import type { Members } from '../core/operations/operations.ts'
import type { OpenedEngine } from '../engine/open-engine.ts'
import type { FailedLogin } from './boot.ts'
import type { ConfigurationOwner } from './configuration-owner.ts'
import { NodeLink } from './node-link.ts'
import { NodeRegistry } from './node-registry.ts'
import type { SharedConfiguration } from './shared-configuration.ts'
import type { OtherNodes, WorkerTree } from './worker-tree.ts'

export interface ClusterNodeParts {
  readonly engine: OpenedEngine
  readonly shared: SharedConfiguration
  readonly folder: string
  readonly nodeName: string
  readonly log: Log
}

/** Making a database takes no longer; a store without a name for so long was left behind. */
const ORPHAN_MS = 600_000

export class ClusterNode implements OtherNodes {
  readonly #parts: ClusterNodeParts
  readonly #catalog: Catalog
  readonly #registry: NodeRegistry
  #link: NodeLink | undefined
  #sweeping: NodeJS.Timeout | undefined

  constructor(parts: ClusterNodeParts) {
    const { engine, log, nodeName: name, folder } = parts
    this.#parts = parts
    this.#catalog = new Catalog(engine, new Notices())
    this.#registry = new NodeRegistry({
      engine,
      name,
      id: nodeIdOf(folder),
      clock: Date.now,
      warn: (message, facts) => log.warning(message, facts),
    })
  }

  async start(tree: WorkerTree, owner: ConfigurationOwner): Promise<void> {
    const { engine, shared, log } = this.#parts
    await NodeRegistry.prepare(engine)
    await this.#registry.join()
    if (engine.peers === undefined) return
    this.#link = new NodeLink({
      peers: engine.peers,
      catalog: this.#catalog,
      tellNotice: notice => tree.tellNotice(notice),
      tellFailedLogin: failed => tree.tellFailedLogin(failed),
      configurationChanged: () => owner.follow(() => shared.news()),
      warn: (message, facts) => log.warning(message, facts),
    })
    shared.onSaved = () => void this.#link?.publishConfiguration()
    await this.#link.start()
    await this.#sweepLater()
  }

  publish(notice: Notice): void {
    this.#link?.publish(notice)
  }

  publishFailedLogin(failed: FailedLogin): void {
    this.#link?.publishFailedLogin(failed)
  }

  members(): Promise<Members> {
    return this.#registry.members()
  }

  async close(): Promise<void> {
    clearTimeout(this.#sweeping)
    try {
      await this.#link?.close()
      await this.#registry.leave()
    } catch (error) {
      this.#parts.log.warning('this node could not say goodbye', { error: String(error) })
    }
    await this.#parts.engine.close()
  }

  async #sweepLater(): Promise<void> {
    const suspects = await this.#catalog.orphans()
    if (suspects.length === 0) return
    this.#sweeping = setTimeout(() => {
      this.#catalog.sweep(suspects).catch(error => {
        this.#parts.log.warning('left-over stores could not be removed', { error: String(error) })
      })
    }, ORPHAN_MS)
    this.#sweeping.unref()
  }
}

const NODE_ID_FILE = 'NODE'

/** Made at the first start, so that a node that died is the same when it comes back. */
function nodeIdOf(folder: string): string {
  const file = join(folder, NODE_ID_FILE)
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown
  }
  const id = randomBytes(16).toString('hex')
  writeFileSync(file, `${id}\n`, { flush: true })
  return id
}
