/** What views need beyond their database, made once for a process: indexes to ask, and somebody who keeps them up. */
import { type Collator, openCollator } from '../../base/collate/collator.ts'
import type { Log } from '../../base/log.ts'
import type { Engine, StoreId } from '../../engine/engine.ts'
import type { Configuration } from '../configuration/configuration.ts'
import { SETTINGS } from '../configuration/settings.ts'
import type { Catalog } from '../database/catalog.ts'
import type { DesignCache } from '../design/design-cache.ts'
import type { StartThreads } from '../indexing/first-build/run-tasks.ts'
import { IndexCatalog } from '../indexing/index-catalog.ts'
import type { IndexKindMaker } from '../indexing/index-kind.ts'
import type { IndexLeases } from '../indexing/index-leases.ts'
import { type IndexUpdates, LocalIndexUpdates } from '../indexing/index-updates.ts'
import { OpenIndexes } from '../indexing/open-indexes.ts'
import { MangoMaker } from '../mango/mango-kind.ts'
import { viewCompare } from '../mango/view-compare.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { ActiveTasks } from '../tasks/active-tasks.ts'
import { MapReduceMaker, type ReduceLimit } from '../view/map-reduce-kind.ts'

export interface ViewServices {
  readonly designs: DesignCache
  readonly indexes: OpenIndexes
  readonly catalog: IndexCatalog
  readonly updates: IndexUpdates
  /** Requests of this process that wait for an index, by its store. */
  readonly waiting: Map<StoreId, number>
  readonly collator: () => Collator
  readonly collatorVersion: () => string
  /** `query_server_config/query_limit`. */
  readonly limitMax: () => number
  /** `query_server_config/partition_query_limit`. */
  readonly partitionLimitMax: () => number
}

export interface ViewServiceParts {
  readonly engine: Engine
  readonly databases: Catalog
  readonly designs: DesignCache
  readonly configuration: Configuration
  readonly sandbox: () => Sandbox
  readonly log: Log
  readonly cacheBytesMax: number
  /** Starts threads for a large first build, where indexes are built in this process. */
  readonly startThreads?: StartThreads | undefined
}

export interface LocalUpdateParts {
  readonly tasks: ActiveTasks
  readonly clock: () => number
  /** Batches that are mapped at the same time. */
  readonly batchesMax: number
  /** Where other nodes could be at work on the same indexes. */
  readonly leases?: IndexLeases | undefined
}

export function makeViewServices(
  parts: ViewServiceParts,
  updatesOf: (services: Omit<ViewServices, 'updates'>) => IndexUpdates,
): ViewServices {
  const { engine, designs, configuration } = parts
  const collator = collatorOnce()
  const indexes = new OpenIndexes({
    engine,
    collator,
    makers: indexKindMakers(parts, collator),
    cacheBytesMax: parts.cacheBytesMax,
    sortBytesMax: () => configuration.get(SETTINGS.indexSortBytes),
    startThreads: parts.startThreads,
  })
  const services = {
    designs,
    indexes,
    catalog: new IndexCatalog(engine),
    waiting: new Map<StoreId, number>(),
    collator,
    collatorVersion: () => collator().version,
    limitMax: () => configuration.get(SETTINGS.queryLimit),
    partitionLimitMax: () => configuration.get(SETTINGS.partitionQueryLimit),
  }
  return { ...services, updates: updatesOf(services) }
}

/** All kinds of indexes there are, each for the language of its design documents. */
const indexKindMakers = (
  { sandbox, configuration, log }: ViewServiceParts,
  collator: () => Collator,
): readonly IndexKindMaker[] => [
  new MapReduceMaker({
    sandbox,
    collator,
    reduceLimit: () => REDUCE_LIMITS[configuration.get(SETTINGS.reduceLimit)],
    log: message => log.warning(message),
  }),
  new MangoMaker({ compare: () => viewCompare(collator()) }),
]

const REDUCE_LIMITS: Readonly<Record<'true' | 'false' | 'log', ReduceLimit>> = {
  true: 'enforce',
  false: 'off',
  log: 'log',
}

/** Indexes are updated in this very process. */
export const localUpdates = (
  services: Omit<ViewServices, 'updates'>,
  { databases, log, configuration }: ViewServiceParts,
  { tasks, clock, batchesMax, leases }: LocalUpdateParts,
): LocalIndexUpdates =>
  new LocalIndexUpdates({
    ...services,
    databases,
    batchesMax,
    farBehindCount: () => configuration.get(SETTINGS.indexFarBehind),
    progress: { tasks, log, clock },
    leases,
  })

function collatorOnce(): () => Collator {
  let collator: Collator | undefined
  return () => {
    collator ??= openCollator()
    return collator
  }
}
