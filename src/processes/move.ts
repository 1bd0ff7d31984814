/**
 * `gurney move --from … --to …`: a whole server from one engine to another, with a bar that shows how far it is. Either is
 * a data folder (embedded engine) or the address of a PostgreSQL server. No server may run on them meanwhile. What was
 * interrupted is continued by the same command. Sequences, revisions and sessions stay valid: stores keep their ids and
 * rows, and the configuration goes along.
 */
import { join, resolve } from 'node:path'
import { Failure } from '../base/errors.ts'
import { type CopyProgress, copyStores, finishMove } from '../engine/copy-stores.ts'
import { isSharedByNodes, type OpenedEngine, openEngine } from '../engine/open-engine.ts'
import { withoutSecrets } from '../engine/postgres/server-address.ts'
import { ConfigFiles } from './config-files.ts'
import { CLUSTER_STORE, NodeRegistry } from './node-registry.ts'
import { SETTINGS_STORE, SharedConfiguration } from './shared-configuration.ts'

export interface MoveOptions {
  /** A folder or the address of a server. */
  readonly from: string
  readonly to: string
}

/** Of the nodes that share an engine, not of what they keep there. */
const LEFT_OUT = new Set([CLUSTER_STORE, SETTINGS_STORE])

export async function runMove(
  { from, to }: MoveOptions,
  output: NodeJS.WriteStream = process.stdout,
): Promise<void> {
  process.title = 'gurney move'
  const source = await open(from, 'source')
  const target = await open(to, 'target')
  const bar = new Bar(output)
  try {
    const report = await copyStores({
      source,
      target,
      sourceName: withoutSecrets(from),
      leaveOut: LEFT_OUT,
      progress: progress => bar.show(progress),
    })
    await moveConfiguration({ from, source, to, target })
    await finishMove(target)
    bar.end()
    const { stores, rows, bytes } = report
    output.write(`Moved and compared ${stores} stores, ${rows} rows, ${bytes} bytes.\n`)
  } finally {
    await target.close()
    await source.close()
  }
}

async function open(place: string, what: string): Promise<OpenedEngine> {
  const isShared = isSharedByNodes(place)
  const engine = await openEngine({
    kind: isShared ? place : 'embedded',
    ...(isShared ? {} : { folder: resolve(place) }),
    exclusive: true,
  })
  if (!isShared) return engine
  await NodeRegistry.prepare(engine)
  const clock = Date.now
  const { alive } = await new NodeRegistry({
    engine,
    name: '',
    id: '',
    clock,
    warn: () => {},
  }).members()
  if (alive.length === 0) return engine
  await engine.close()
  throw new Failure('storage_locked', {
    reason: `the ${what} is in use by ${alive.join(', ')}: stop it first (one that died counts as down after 20 s)`,
  })
}

interface Ends {
  readonly from: string
  readonly source: OpenedEngine
  readonly to: string
  readonly target: OpenedEngine
}

/** Admins, secrets and all that was set; what is about one machine goes only from folder to folder. */
async function moveConfiguration({ from, source, to, target }: Ends): Promise<void> {
  const values = isSharedByNodes(from)
    ? await (await SharedConfiguration.open(source, NO_FILES)).load()
    : filesOf(from).loadLocal()
  const shared = isSharedByNodes(to) ? await SharedConfiguration.open(target, NO_FILES) : undefined
  for (const [section, keys] of values) {
    for (const [key, value] of keys) {
      if (shared === undefined) filesOf(to).save({ section, key, value })
      else await shared.saveShared({ section, key, value })
    }
  }
}

const filesOf = (folder: string): ConfigFiles =>
  new ConfigFiles({ defaults: NOWHERE, local: join(resolve(folder), 'local.ini') })

const NOWHERE = join(import.meta.dirname, 'no-such-file.ini')
const NO_FILES = new ConfigFiles({ defaults: NOWHERE, local: NOWHERE })

const BAR_WIDTH = 30

class Bar {
  readonly #output: NodeJS.WriteStream
  #lastTenth = -1
  #isDrawn = false

  constructor(output: NodeJS.WriteStream) {
    this.#output = output
  }

  show({ storesDone, storesTotal, bytesDone, bytesTotal }: CopyProgress): void {
    const share = bytesTotal === 0 ? 1 : bytesDone / bytesTotal
    const percent = Math.floor(share * 100)
    const facts = `${percent} %, ${storesDone} of ${storesTotal} stores`
    if (this.#output.isTTY) {
      const full = Math.round(share * BAR_WIDTH)
      this.#output.write(`\r[${'#'.repeat(full)}${' '.repeat(BAR_WIDTH - full)}] ${facts} `)
      this.#isDrawn = true
    } else if (Math.floor(percent / 10) !== this.#lastTenth) {
      this.#lastTenth = Math.floor(percent / 10)
      this.#output.write(`${facts}\n`)
    }
  }

  end(): void {
    if (this.#isDrawn) this.#output.write('\n')
  }
}
