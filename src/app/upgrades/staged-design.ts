/**
 * Design documents of a coming version, beside the ones that are in use: under a name of their own, so that their
 * indexes can be built ahead. An index belongs to the definitions of its views and not to the name, so it serves the
 * live document from the moment this one takes their place.
 *
 * A validation function would already count under any name, so it is kept aside until then. Views that this server asks
 * itself are added where a build does not have them. Pure.
 */
import { type Document, isObject, type JsonObject, without } from '../documents/document.ts'
import type { DesignDefinition } from '../install/designs/map-function.ts'
import type { BuildDesign } from './build.ts'

export const STAGED_PREFIX = '_design/:staged:'

export interface Deployment {
  readonly user: string
  readonly upgradeLogId: string
  readonly buildInfo: JsonObject
}

const HELD_BACK = 'staged_validate_doc_update'

export function stagedDesign(
  { name, members }: BuildDesign,
  bundled: DesignDefinition | undefined,
  { user, upgradeLogId, buildInfo }: Deployment,
): Document {
  const { validate_doc_update: own, views, ...rest } = members
  const validation = own ?? bundled?.validateUpdate
  return {
    ...rest,
    _id: `${STAGED_PREFIX}${name}`,
    language: members.language ?? 'javascript',
    build_info: isObject(members.build_info) ? members.build_info : buildInfo,
    deploy_info: { user, upgrade_log_id: upgradeLogId },
    views: { ...bundled?.views, ...(isObject(views) ? views : {}) },
    ...(validation === undefined ? {} : { [HELD_BACK]: validation }),
  }
}

/** What a staged design document becomes. */
export function liveDesign(staged: Document, live: Document | undefined, nowMs: number): Document {
  const validation = staged[HELD_BACK]
  const info = isObject(staged.deploy_info) ? staged.deploy_info : {}
  return {
    ...without(staged, '_id', '_rev', HELD_BACK),
    _id: `_design/${staged._id.slice(STAGED_PREFIX.length)}`,
    ...(live?._rev === undefined ? {} : { _rev: live._rev }),
    ...(validation === undefined ? {} : { validate_doc_update: validation }),
    deploy_info: { ...info, timestamp: nowMs },
  }
}

/** Deployed by this upgrade already: it was interrupted after that. */
export const isDeployedBy = (live: Document | undefined, upgradeLogId: string): boolean =>
  isObject(live?.deploy_info) && live.deploy_info.upgrade_log_id === upgradeLogId
