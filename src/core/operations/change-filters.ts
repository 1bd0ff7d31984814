/**
 * Filters of a changes feed that look into documents: selectors, functions and views of design documents. Each takes a
 * batch of changes with their records and says which revisions of each are to be listed, if any.
 *
 * With `allLeaves` a filter sees every leaf and lists those that pass, else it sees the winner. Deleted documents are
 * seen too. Filters by id need no document and are not here but in `follow-changes.ts`.
 */
import { Failure } from '../../base/errors.ts'
import type { Change } from '../database/changes.ts'
import type { Database } from '../database/database.ts'
import { bodyOfRevision } from '../database/load-documents.ts'
import { decodeDocument } from '../database/stored-document.ts'
import { functionDocument } from '../design/function-document.ts'
import { printRevision, type Revision } from '../document/revision.ts'
import { leaves } from '../document/revision-tree.ts'
import { decodeTree } from '../document/revision-tree-codec.ts'
import type { Compare, JsonObject, JsonValue } from '../mango/json-value.ts'
import { compileMatcher } from '../mango/match.ts'
import { parseSelector } from '../mango/parse-selector.ts'
import type { DesignSource, Sandbox } from '../sandbox/sandbox.ts'
import { readSeen } from './change-rows.ts'
import type { ReadableDatabase } from './opened-database.ts'
import { type DocumentView, viewOfRevision, viewOfWinner } from './read-document.ts'

export type DocumentFilter =
  | { readonly kind: 'selector'; readonly selector: JsonObject }
  | { readonly kind: 'view'; readonly design: string; readonly name: string }
  | {
      readonly kind: 'function'
      readonly design: string
      readonly name: string
      /** The request as filter functions see it: JSON text. */
      readonly request: () => Promise<Buffer>
    }

export interface FilterParts {
  readonly operations: ReadableDatabase
  readonly allLeaves: boolean
  readonly sandbox: () => Sandbox
  readonly compare: () => Compare
}

/** For each change the revisions to list; undefined when it does not pass. */
export type RunFilter = (
  changes: readonly Change[],
) => Promise<readonly (readonly Revision[] | undefined)[]>

/** Fails with `document_missing` or `function_missing` when there is no such design document or function. */
export async function openFilter(filter: DocumentFilter, parts: FilterParts): Promise<RunFilter> {
  const passes = await judgeOf(filter, parts)
  const withHistory = filter.kind !== 'selector'
  return async changes => {
    const candidates = await candidatesOf(parts, changes, withHistory)
    const texts = candidates.map(candidate => functionDocument(candidate.view))
    const verdicts = texts.length === 0 ? [] : await passes(texts)
    const listed: (Revision[] | undefined)[] = changes.map(() => undefined)
    for (const [at, { change, view }] of candidates.entries()) {
      if (verdicts[at] !== true) continue
      const revs = listed[change]
      if (revs === undefined) listed[change] = [view.rev]
      else revs.push(view.rev)
    }
    return listed
  }
}

type Judge = (documents: readonly Buffer[]) => Promise<readonly boolean[]> | readonly boolean[]

async function judgeOf(filter: DocumentFilter, parts: FilterParts): Promise<Judge> {
  if (filter.kind === 'selector') {
    const matches = compileMatcher(parseSelector(filter.selector), { compare: parts.compare() })
    return documents =>
      documents.map(document => matches(JSON.parse(document.toString()) as JsonValue))
  }
  const { name } = filter
  const path = filter.kind === 'view' ? ['views', name, 'map'] : ['filters', name]
  const design = await openDesign(parts.operations, filter.design, path)
  const sandbox = parts.sandbox()
  if (filter.kind === 'view') return documents => sandbox.filterByView(design, name, documents)
  const request = await filter.request()
  return documents => sandbox.filter(design, name, documents, request)
}

/** @param path where the function must be in the design document */
async function openDesign(
  operations: ReadableDatabase,
  name: string,
  path: readonly string[],
): Promise<DesignSource> {
  const view = await operations.readDocument(`_design/${name}`)
  let at: unknown = JSON.parse(view.body.toString())
  for (const key of path) {
    const isObject = typeof at === 'object' && at !== null && !Array.isArray(at)
    if (!isObject || !Object.hasOwn(at as object, key)) {
      throw new Failure('function_missing', { reason: `missing json key: ${key}` })
    }
    at = (at as Record<string, unknown>)[key]
  }
  const databaseKey = operations.database.store.id
  const key = `${name}@${printRevision(view.rev)}`
  return { databaseKey, key, document: functionDocument(view) }
}

interface Candidate {
  /** Which of the changes it belongs to. */
  readonly change: number
  readonly view: DocumentView
}

async function candidatesOf(
  { operations, allLeaves }: FilterParts,
  changes: readonly Change[],
  revs: boolean,
): Promise<Candidate[]> {
  const candidates: Candidate[] = []
  for (const [index, change] of changes.entries()) {
    // A document that was purged between two looks has no record any more.
    if (change.record === undefined) continue
    const { id } = change
    if (operations.narrowsDocuments) {
      // A filter must not tell by its verdict what its user may not read.
      const view = await readSeen(operations, id, { deleted: true, revs })
      if (view !== undefined) candidates.push({ change: index, view })
    } else if (allLeaves && change.leafCount > 1) {
      const views = await leafViews(operations.database, id, change.record, revs)
      for (const view of views) candidates.push({ change: index, view })
    } else {
      const view = viewOfWinner(decodeDocument(change.record, id), { revs })
      candidates.push({ change: index, view })
    }
  }
  return candidates
}

/** All leaves that have a body, winner first. */
async function leafViews(
  database: Database,
  id: string,
  record: Buffer,
  revs: boolean,
): Promise<DocumentView[]> {
  const document = decodeDocument(record, id)
  const tree = decodeTree(document.tree)
  return database.read(function* (tx) {
    const views: DocumentView[] = []
    for (const leaf of leaves(tree)) {
      const body = yield* bodyOfRevision(tx, document, leaf.bodyKey)
      if (body !== undefined) views.push(viewOfRevision(id, leaf, body, revs ? tree : undefined))
    }
    return views
  })
}
