/**
 * What the application needs in the database server: its databases, who may use them, their design documents and the
 * first settings. Run at every start, by every process at once if it must be: each step looks first and does only what
 * is missing, and whoever comes second finds it done.
 *
 * An upgrade replaces what an earlier installation put into a design document; views and members that others added to
 * it stay. What was deployed from a builds server (`app/upgrades/`) stays too, and gets only what it lacks.
 */
import { isFailure } from '../../base/errors.ts'
import { applicationDatabase } from '../../base/product-names.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { ServerOperations } from '../../core/operations/operations.ts'
import { isObject, isSameJson, type JsonObject, without } from '../documents/document.ts'
import { APPLICATION_USER, DocumentDatabase } from '../documents/document-database.ts'
import { DEFAULT_SETTINGS } from '../settings/default-settings.ts'
import type { SettingsStore } from '../settings/settings-store.ts'
import { clientDesign } from './designs/client-design.ts'
import { lookupDesign } from './designs/lookup-design.ts'
import { mainDesign } from './designs/main-design.ts'
import type { DesignDefinition } from './designs/map-function.ts'
import {
  LOGS_DESIGN,
  SENTINEL_DESIGN,
  USERS_DESIGN,
  USERS_META_DESIGN,
} from './designs/other-designs.ts'
import { serviceDesigns } from './designs/service-designs.ts'

export interface InstallParts {
  readonly server: ServerOperations
  readonly settings: SettingsStore
  /** Of the application, for `build_info`. */
  readonly version: string
}

interface DatabasePlan {
  readonly name: string
  readonly designs: readonly DesignDefinition[]
  /** The security object of a new database; absent: as the server makes them. */
  readonly security?: JsonObject
}

const onlyRole = (role: string): JsonObject => ({
  admins: { names: [], roles: [role] },
  members: { names: [], roles: [role] },
})

function plansOf(server: ServerOperations): readonly DatabasePlan[] {
  const name = applicationDatabase()
  const admins = onlyRole('_admin')
  return [
    {
      name,
      designs: [mainDesign(name), clientDesign(name), lookupDesign(name), ...serviceDesigns(name)],
      security: admins,
    },
    {
      name: applicationDatabase('sentinel'),
      designs: [SENTINEL_DESIGN],
      security: onlyRole('sentinel'),
    },
    { name: applicationDatabase('users-meta'), designs: [USERS_META_DESIGN], security: admins },
    { name: applicationDatabase('logs'), designs: [LOGS_DESIGN], security: admins },
    { name: applicationDatabase('vault'), designs: [], security: admins },
    { name: server.configuration.get(SETTINGS.authenticationDb), designs: [USERS_DESIGN] },
  ]
}

/** The design documents that this server brings, by database. */
export const bundledDesigns = (
  server: ServerOperations,
): ReadonlyMap<string, readonly DesignDefinition[]> =>
  new Map(plansOf(server).map(({ name, designs }) => [name, designs]))

export async function install({ server, settings, version }: InstallParts): Promise<void> {
  for (const plan of plansOf(server)) {
    await ensureDatabase(server, plan)
    const database = new DocumentDatabase(server, plan.name)
    for (const design of plan.designs) await ensureDesign(database, design, version)
  }
  await settings.follow(DEFAULT_SETTINGS)
}

async function ensureDatabase(server: ServerOperations, plan: DatabasePlan): Promise<void> {
  if ((await server.databaseInfo(plan.name)) !== undefined) return
  try {
    await server.createDatabase(APPLICATION_USER, plan.name, {})
  } catch (thrown) {
    if (!isFailure(thrown, 'database_exists')) throw thrown
    return
  }
  if (plan.security === undefined) return
  const database = await server.open(APPLICATION_USER, plan.name)
  await database.setSecurity(Buffer.from(JSON.stringify(plan.security)))
}

const ATTEMPTS_MAX = 10

/** Exported for those who stage designs of a coming version. */
export async function ensureDesign(
  database: DocumentDatabase,
  design: DesignDefinition,
  version: string,
): Promise<void> {
  const id = `_design/${design.name}`
  for (let attempt = 1; ; attempt++) {
    const stored = await database.get(id)
    const wanted = upgraded(stored ?? {}, design, version)
    if (stored !== undefined && isSameJson(wanted, without(stored, '_id', '_rev'))) return
    try {
      const rev = stored?._rev === undefined ? {} : { _rev: stored._rev }
      await database.put({ _id: id, ...rev, ...wanted })
      return
    } catch (thrown) {
      if (!isFailure(thrown, 'document_conflict') || attempt === ATTEMPTS_MAX) throw thrown
    }
  }
}

/** The design document with everything of ours, and with whatever others put into it. */
export function upgraded(
  stored: JsonObject,
  design: DesignDefinition,
  version: string,
): JsonObject {
  const { views, validateUpdate } = design
  const info = isObject(stored.deploy_info) ? stored.deploy_info : {}
  if (typeof info.upgrade_log_id === 'string') return completed(stored, design)
  const formerly = Array.isArray(info.views) ? info.views : []
  const others = isObject(stored.views) ? without(stored.views, ...formerly) : {}
  return {
    ...without(stored, '_id', '_rev'),
    language: 'javascript',
    build_info: { namespace: 'svc', application: 'svc', version, schema_version: 1 },
    deploy_info: { ...info, views: Object.keys(views) },
    views: { ...others, ...views },
    ...(validateUpdate === undefined ? {} : { validate_doc_update: validateUpdate }),
  }
}

/** Somebody chose that version: where it has a view of the same name, it is that one. */
function completed(stored: JsonObject, { views, validateUpdate }: DesignDefinition): JsonObject {
  const own = isObject(stored.views) ? stored.views : {}
  const validation = stored.validate_doc_update ?? validateUpdate
  return {
    ...without(stored, '_id', '_rev'),
    views: { ...views, ...own },
    ...(validation === undefined ? {} : { validate_doc_update: validation }),
  }
}
