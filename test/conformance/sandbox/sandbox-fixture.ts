/** What the sandbox tests share: a sandbox that keeps its log, and JSON in and out of bytes. */
import {
  DenoSandbox,
  type DenoSandboxOptions,
  type SandboxLogLine,
} from '../../../src/core/sandbox/deno-sandbox.ts'
import type { MappedBatch } from '../../../src/core/sandbox/reply-text.ts'
import type { DesignSource, ViewGroup } from '../../../src/core/sandbox/sandbox.ts'

export interface Fixture {
  readonly sandbox: DenoSandbox
  readonly log: SandboxLogLine[]
  readonly warnings: string[]
}

export function openFixture(options: Partial<DenoSandboxOptions> = {}): Fixture {
  const log: SandboxLogLine[] = []
  const warnings: string[] = []
  const sandbox = new DenoSandbox({
    processesMax: 1,
    ...options,
    warn: message => warnings.push(message),
    onLog: line => log.push(line),
  })
  return { sandbox, log, warnings }
}

export const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

let sources = 0

/** A view group with a key of its own. */
export function viewGroup(
  maps: readonly string[],
  rest: { reduces?: readonly string[]; lib?: object; databaseKey?: string } = {},
): ViewGroup {
  const lib = rest.lib === undefined ? {} : { lib: JSON.stringify(rest.lib) }
  const databaseKey = rest.databaseKey ?? 'db'
  return { databaseKey, key: `views-${++sources}`, maps, reduces: rest.reduces ?? [], ...lib }
}

export function designDocument(document: object, databaseKey = 'db'): DesignSource {
  return { databaseKey, key: `design-${++sources}`, document: json(document) }
}

/** Rows as [document, view, key, value]. */
export function rowsOf(batch: MappedBatch): unknown[][] {
  const rows: unknown[][] = []
  batch.forEachRow(({ document, view, start, keyEnd, valueEnd }) => {
    const key = JSON.parse(batch.bytes.toString('utf8', start, keyEnd))
    rows.push([document, view, key, JSON.parse(batch.bytes.toString('utf8', keyEnd + 1, valueEnd))])
  })
  return rows
}

export const context = { userContext: json({ name: 'ann', roles: [] }), security: json({}) }

/** Runs a body of a map function once and answers what it emitted as value. */
export async function emittedBy(
  fixture: Fixture,
  body: string,
  doc: object = {},
): Promise<unknown> {
  const group = viewGroup([`function (doc) { ${body} }`])
  const batch = await fixture.sandbox.mapBatch(group, [json(doc)])
  const first = batch.throws[0]
  if (first !== undefined) throw new Error(first.message)
  return rowsOf(batch)[0]?.[3]
}
