/**
 * Figures of the databases that are watched, and of the indexes of their design documents. Sizes are those that the
 * engine keeps anyway, so nothing is counted here. What fails stands out: a database with -1, an index not at all.
 */
import { applicationDatabase } from '../../base/product-names.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { DatabaseInfo, ServerOperations } from '../../core/operations/operations.ts'
import { DocumentDatabase } from '../documents/document-database.ts'
import { FAILED_NUMBER, FAILED_TEXT, type MetricReader } from './metric.ts'

export interface Sizes {
  readonly active: number
  readonly file: number
}

export interface IndexFigures {
  readonly name: string
  readonly sizes: Sizes
}

export interface DatabaseFigures {
  readonly name: string
  readonly update_sequence: number
  readonly doc_count: number
  readonly doc_del_count: number
  readonly fragmentation: number
  readonly sizes: Sizes
  readonly view_indexes: readonly IndexFigures[]
}

export interface WatchedDatabase {
  readonly name: string
  /** Its key for dashboards that were made for the product. */
  readonly alias: string
  /** Design documents whose indexes are watched. */
  readonly designs: readonly string[]
}

export function watchedDatabases({ configuration }: ServerOperations): readonly WatchedDatabase[] {
  const main = applicationDatabase()
  const kinds = ['admin', 'client', 'conflicts', 'scripts', 'sms']
  return [
    { name: main, alias: 'medic', designs: [main, ...kinds.map(kind => `${main}-${kind}`)] },
    { name: applicationDatabase('sentinel'), alias: 'sentinel', designs: ['sentinel'] },
    { name: applicationDatabase('users-meta'), alias: 'usersmeta', designs: ['users-meta'] },
    { name: configuration.get(SETTINGS.authenticationDb), alias: 'users', designs: ['users'] },
  ]
}

export async function readDatabaseFigures(
  server: ServerOperations,
  { name, designs }: WatchedDatabase,
  metrics: MetricReader,
): Promise<DatabaseFigures> {
  const [info, ...found] = await Promise.all([
    metrics.read(`database ${name}`, undefined, () => databaseInfo(server, name)),
    ...designs.map(design => readIndexFigures(server, { name, design }, metrics)),
  ])
  const indexes = found.filter(figures => figures !== undefined)
  if (info === undefined) return { ...FAILED_DATABASE, view_indexes: indexes }
  const sizes = { active: info.liveBytes, file: info.fileBytes }
  return {
    name,
    update_sequence: Number.parseInt(info.updateSeq, 10),
    doc_count: info.liveCount,
    doc_del_count: info.deletedCount,
    fragmentation: fragmentationOf([sizes, ...indexes.map(index => index.sizes)]),
    sizes,
    view_indexes: indexes,
  }
}

const FAILED_DATABASE = {
  name: FAILED_TEXT,
  update_sequence: FAILED_NUMBER,
  doc_count: FAILED_NUMBER,
  doc_del_count: FAILED_NUMBER,
  fragmentation: FAILED_NUMBER,
  sizes: { active: FAILED_NUMBER, file: FAILED_NUMBER },
}

async function databaseInfo(server: ServerOperations, name: string): Promise<DatabaseInfo> {
  const info = await server.databaseInfo(name)
  if (info === undefined) throw new Error('there is no such database')
  return info
}

const readIndexFigures = (
  server: ServerOperations,
  { name, design }: { readonly name: string; readonly design: string },
  metrics: MetricReader,
): Promise<IndexFigures | undefined> =>
  metrics.read(`index ${name}/${design}`, undefined, async () => {
    const opened = await new DocumentDatabase(server, name).open()
    const { liveBytes, fileBytes } = await opened.viewInfo(design)
    return { name: design, sizes: { active: liveBytes, file: fileBytes } }
  })

/** Bytes on disk for a byte in use; what holds nothing says nothing. */
export function fragmentationOf(all: readonly Sizes[]): number {
  const used = all.filter(({ active }) => active > 0)
  const active = used.reduce((sum, sizes) => sum + sizes.active, 0)
  return active === 0 ? FAILED_NUMBER : used.reduce((sum, { file }) => sum + file, 0) / active
}
