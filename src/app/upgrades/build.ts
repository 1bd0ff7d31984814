/**
 * Which build somebody wants, and the build as the builds server has it: a document with design documents for the
 * application's databases among its attachments. Pure; fetching is `fetch-build.ts`.
 *
 * Two generations are read: `ddocs/{database}.json` for each database, and the older one in which the document itself is
 * the main design document and `ddocs/compiled.json` has the others.
 */
import { Failure } from '../../base/errors.ts'
import {
  applicationDatabase,
  applicationName,
  isApplicationName,
} from '../../base/product-names.ts'
import { isObject, isText, type JsonObject, without } from '../documents/document.ts'

export interface BuildName {
  readonly namespace: string
  readonly application: string
  readonly version: string
}

/** A design document to be deployed. */
export interface BuildDesign {
  /** The database it belongs to, by its name here. */
  readonly database: string
  /** Without `_design/`, by its name here. */
  readonly name: string
  /** All but id and revision. */
  readonly members: JsonObject
}

export interface Build {
  readonly info: JsonObject
  readonly designs: readonly BuildDesign[]
}

export const buildId = ({ namespace, application, version }: BuildName): string =>
  `${namespace}:${application}:${version}`

const VERSION_LENGTH_MAX = 200

/** @param body of the request */
export function parseBuildName(body: unknown): BuildName {
  const build = isObject(body) ? body.build : undefined
  if (!isObject(build)) throw invalid('You must provide a build info body')
  const { namespace, application, version } = build
  if (!isProduct(namespace) || !isProduct(application)) {
    throw invalid(`build.namespace and build.application must be "${applicationDatabase()}"`)
  }
  if (!isText(version) || version.length > VERSION_LENGTH_MAX) {
    throw invalid('build.version must name a version')
  }
  return { namespace, application, version }
}

const isProduct = (value: unknown): value is string =>
  typeof value === 'string' && isApplicationName(value)

const invalid = (reason: string): Failure => new Failure('request_invalid', { reason })

/**
 * @param document with its attachments inline, as base64
 * @param accounts the database of accounts
 */
export function readBuild(document: unknown, accounts: string): Build {
  if (!isObject(document)) throw broken('it is no document')
  const attachments = isObject(document._attachments) ? document._attachments : {}
  const info = isObject(document.build_info) ? document.build_info : {}
  const databases = databasesByFile(accounts)
  const designs = Object.keys(attachments).flatMap(file => {
    const database = databases.get(file)
    return database === undefined ? [] : designsIn(attachments[file], file, database)
  })
  if (isObject(document.views)) {
    const members = without(document, '_id', '_rev', '_attachments', '_revisions')
    designs.unshift({ database: applicationDatabase(), name: applicationDatabase(), members })
  }
  if (designs.length === 0) throw broken('it has no design documents')
  return { info, designs }
}

function databasesByFile(accounts: string): ReadonlyMap<string, string> {
  const parts = ['sentinel', 'logs', 'users-meta'].map(
    part => [part, applicationDatabase(part)] as const,
  )
  const main = applicationDatabase()
  const all = [['medic', main], [main, main], ['users', accounts], ...parts] as const
  return new Map([
    ...all.map(([file, name]) => [`ddocs/${file}.json`, name] as const),
    ['ddocs/compiled.json', main],
  ])
}

function designsIn(attachment: unknown, file: string, database: string): BuildDesign[] {
  const { docs } = contentOf(attachment, file)
  if (!Array.isArray(docs)) throw broken(`${file} has no docs`)
  return docs.map(design => designOf(design, file, database))
}

function contentOf(attachment: unknown, file: string): JsonObject {
  const { data } = isObject(attachment) ? attachment : {}
  if (typeof data !== 'string') throw broken(`${file} has no content`)
  try {
    const content: unknown = JSON.parse(Buffer.from(data, 'base64').toString())
    if (isObject(content)) return content
  } catch (thrown) {
    throw broken(`${file} is no JSON`, thrown)
  }
  throw broken(`${file} is no object`)
}

function designOf(design: unknown, file: string, database: string): BuildDesign {
  const id = isObject(design) ? design._id : undefined
  const [, name] = typeof id === 'string' ? (/^_design\/([^/:]+)$/.exec(id) ?? []) : []
  if (!isObject(design) || name === undefined) throw broken(`${file} has a document without name`)
  const members = without(design, '_id', '_rev', '_attachments', '_revisions')
  return { database, name: applicationName(name), members }
}

const broken = (why: string, cause?: unknown): Failure =>
  new Failure('request_invalid', { reason: `The build cannot be used: ${why}` }, cause)
