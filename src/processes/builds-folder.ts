/**
 * Builds as files of a folder, turned into the documents that a builds server has. A build is either a file
 * `{version}.json`, the document of a builds server as it was downloaded with its attachments inline, or a folder
 * `{version}` with `ddocs/{database}.json` files and, if there is something to say, a `build.json`.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../base/errors.ts'
import { applicationDatabase } from '../base/product-names.ts'

export interface BuildFile {
  readonly _id: string
  readonly [member: string]: unknown
}

export function readBuilds(folder: string): BuildFile[] {
  const entries = attempt(folder, () => readdirSync(folder, { withFileTypes: true }))
  return entries.flatMap(entry => {
    if (entry.name.startsWith('.')) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return [fromFolder(path, entry.name)]
    return entry.name.endsWith('.json') ? [fromFile(path, entry.name.slice(0, -5))] : []
  })
}

function fromFile(path: string, version: string): BuildFile {
  const { _rev, ...document } = readObject(path)
  return withNames(document, version)
}

function fromFolder(path: string, version: string): BuildFile {
  const files = attempt(path, () => readdirSync(path))
  const document = files.includes('build.json') ? readObject(join(path, 'build.json')) : {}
  const designs = join(path, 'ddocs')
  const names = attempt(designs, () => readdirSync(designs)).filter(name => name.endsWith('.json'))
  const attachments = names.map(name => {
    const data = attempt(path, () => readFileSync(join(designs, name))).toString('base64')
    return [`ddocs/${name}`, { content_type: 'application/json', data }]
  })
  return withNames({ ...document, _attachments: Object.fromEntries(attachments) }, version)
}

/** Whatever a document does not say of itself is told by the name of its file. */
function withNames(document: Readonly<Record<string, unknown>>, version: string): BuildFile {
  const product = applicationDatabase()
  const given = document.build_info as Readonly<Record<string, unknown>> | undefined
  const info = { namespace: product, application: product, version, ...given }
  const id = document._id ?? `${info.namespace}:${info.application}:${info.version}`
  return { ...document, _id: String(id), build_info: info }
}

function readObject(path: string): Record<string, unknown> {
  const value: unknown = attempt(path, () => JSON.parse(readFileSync(path, 'utf8')))
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>
  }
  throw new Failure('request_invalid', { reason: `${path} is no JSON object` })
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (thrown) {
    const reason = `${path} cannot be read (${(thrown as Error).message})`
    throw new Failure('request_invalid', { reason }, thrown)
  }
}
