/** What is deployed: read from the main design document, where installations and upgrades leave it. Pure. */
import { type Document, isObject, type JsonObject, without } from '../documents/document.ts'

export interface DeployInfo extends JsonObject {
  readonly version: string
}

const SEMANTIC = /^v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$/

export function deployInfoOf(design: Document): DeployInfo {
  const build = isObject(design.build_info) ? design.build_info : {}
  const deploy = isObject(design.deploy_info) ? design.deploy_info : {}
  const named = [build.version, deploy.build].map(semantic).find(found => found !== undefined)
  const version = named ?? (typeof design.version === 'string' ? design.version : 'unknown')
  // Which views an installation put there is nobody's business but the next one's.
  return { ...build, ...without(deploy, 'views'), version }
}

const semantic = (value: unknown): string | undefined =>
  typeof value === 'string' ? SEMANTIC.exec(value.trim())?.[1] : undefined
