/**
 * Declarative queries: `_find` and `_explain`. The steps: parse, choose an index, bring it up to date, scan, match, show.
 *
 * Promises: memory does not grow with the database, and other requests run while a scan goes on. Every document that
 * is shown matched as it was when it was read, however old the index is.
 */
import { setImmediate as pause } from 'node:timers/promises'
import { Failure, isFailure } from '../../base/errors.ts'
import type { DesignSet } from '../design/design-cache.ts'
import type { OpenIndex } from '../indexing/open-indexes.ts'
import { encodeBookmark } from '../mango/bookmark.ts'
import { compileByteFilter } from '../mango/byte-filter.ts'
import { explainFind } from '../mango/explain.ts'
import { parseFieldPath } from '../mango/field-path.ts'
import {
  ALL_DOCS,
  columnNames,
  type IndexDefinition,
  type JsonIndex,
  type TextIndex,
} from '../mango/index-definition.ts'
import { readIndexes } from '../mango/index-request.ts'
import type { Compare, JsonObject, JsonValue } from '../mango/json-value.ts'
import { MangoKind, wantedMembers } from '../mango/mango-kind.ts'
import { compileMatcher, type Matcher } from '../mango/match.ts'
import { type FindOptions, parseFindOptions } from '../mango/options.ts'
import { covers, type Plan, planFind, scanWarning } from '../mango/plan.ts'
import { compileProjection } from '../mango/projection.ts'
import { PlanRun } from '../mango/run-plan.ts'
import { conjunctTests, isConstantField, type Selector, selectorFields } from '../mango/selector.ts'
import type { WantedMembers } from '../mango/selector-document.ts'
import { candidatesById } from './find-by-id.ts'
import { candidatesByKey } from './find-by-key.ts'
import { candidatesByText } from './find-by-text.ts'
import type { FindHost } from './find-host.ts'
import type { FoundRow } from './found-rows.ts'
import { openQueryIndex } from './open-query-index.ts'
import type { DocumentView } from './read-document.ts'
import type { ViewServices } from './view-services.ts'

export interface FindSettings {
  readonly defaultLimit: number
  /** Documents read for each one returned, from which on an answer warns; 0: never. */
  readonly scanWarningRatio: number
  readonly textSearch: boolean
}

export interface FindParts {
  readonly host: FindHost
  readonly views: ViewServices
  readonly settings: FindSettings
  readonly compare: () => Compare
}

/** A whole document, or what `fields` left of one. */
export type FoundDocument =
  | { readonly view: DocumentView; readonly part?: undefined }
  | { readonly view?: undefined; readonly part: JsonValue }

export interface FindAnswer {
  readonly batches: AsyncIterable<readonly FoundDocument[]>
  /** For when the batches have ended. */
  summary(): FindSummary
}

export interface FindSummary {
  /** Undefined: nothing was looked up at all. */
  readonly bookmark: string | undefined
  readonly warnings: readonly string[]
  readonly statistics: FindStatistics | undefined
}

export interface FindStatistics {
  readonly keysExamined: number
  readonly documentsExamined: number
  readonly quorumDocumentsExamined: number
  readonly resultsReturned: number
  readonly milliseconds: number
}

/** Fails with `mango_invalid`. */
export async function findDocuments(
  parts: FindParts,
  request: JsonObject,
  signal?: AbortSignal,
): Promise<FindAnswer> {
  const options = parseFindOptions(request, parts.settings)
  for (let attempt = 1; ; attempt++) {
    try {
      return await answer(parts, options, signal)
    } catch (thrown) {
      // Somebody changed or removed the index after the plan was made.
      const isGone = isFailure(thrown, 'index_changed') || isFailure(thrown, 'store_missing')
      if (!isGone || attempt === ATTEMPTS_MAX) throw thrown
    }
  }
}

const ATTEMPTS_MAX = 5

async function answer(
  parts: FindParts,
  options: FindOptions,
  signal: AbortSignal | undefined,
): Promise<FindAnswer> {
  const { host, settings } = parts
  const startedMs = performance.now()
  if (options.partition !== '' && !host.database.properties.partitioned) {
    const reason = '`partition` parameter is not supported on this db'
    throw new Failure('query_invalid', { reason })
  }
  const plan = planFind(options, await indexesOf(parts), planSettings(parts))
  if (plan.isEmpty) return NOTHING
  const { rows, matches, ranked } = await candidatesOf(parts, plan, options, signal)
  const run = new PlanRun<FoundRow>({
    matches,
    skip: options.skip,
    limit: options.limit,
    now: () => performance.now(),
    pause,
  })
  const readsDocuments = !plan.covering || host.narrowsDocuments
  return {
    batches: shown(run, rows, options),
    summary: () => summaryOf({ run, ranked, plan, options, settings, startedMs, readsDocuments }),
  }
}

const NOTHING: FindAnswer = {
  batches: (async function* () {})(),
  summary: () => ({ bookmark: undefined, warnings: [], statistics: undefined }),
}

export async function explainDocuments(parts: FindParts, request: JsonObject): Promise<JsonObject> {
  const { host, settings } = parts
  const options = parseFindOptions(request, settings)
  const indexes = await indexesOf(parts)
  // Where there are no text indexes nobody is told what they could do, as by a CouchDB without search.
  const textSearch = indexes.some(({ type }) => type === 'text')
  return explainFind(host.name, options, indexes, { ...planSettings(parts), textSearch })
}

const planSettings = ({ host, compare }: FindParts) => ({
  compare: compare(),
  partitioned: host.database.properties.partitioned,
})

/** All indexes of the database, that of all documents first. */
export async function indexesOf({
  host,
  views,
  settings,
}: Pick<FindParts, 'host' | 'views' | 'settings'>): Promise<readonly IndexDefinition[]> {
  const { database } = host
  const set = await views.designs.of(database)
  const known = parsedIndexes.get(set)
  if (known?.textSearch === settings.textSearch) return known.indexes
  const { partitioned } = database.properties
  const { textSearch } = settings
  const own = [...set.byId.values()].flatMap(({ id, fields }) =>
    readIndexes(id, fields as JsonObject, { partitioned, textSearch }),
  )
  const indexes = [ALL_DOCS, ...own]
  parsedIndexes.set(set, { textSearch, indexes })
  return indexes
}

/** Definitions live as long as the design documents they were read from. */
const parsedIndexes = new WeakMap<
  DesignSet,
  { readonly textSearch: boolean; readonly indexes: readonly IndexDefinition[] }
>()

interface Candidates {
  readonly rows: AsyncIterable<readonly FoundRow[]>
  readonly matches: Matcher
  readonly ranked?: { readonly examined: number }
}

async function candidatesOf(
  parts: FindParts,
  plan: Plan,
  options: FindOptions,
  signal: AbortSignal | undefined,
): Promise<Candidates> {
  const { host, views } = parts
  const { selector } = options
  const matches = compileMatcher(selector, { compare: parts.compare() })
  const scan = {
    reverse: plan.reverse,
    bookmark: options.bookmark,
    firstCount: options.skip + options.limit + 1,
    wanted: wantedOf(options),
    partition: options.partition === '' ? undefined : options.partition,
  }
  if (plan.kind === 'ids') {
    const mayMatch = compileByteFilter(selector)
    const rows = candidatesById(host, { ...scan, range: plan.range, mayMatch })
    return { rows, matches }
  }
  const open = await openQueryIndex(host.database, views, {
    designId: plan.index.ddoc,
    update: options.update && !options.stale,
    signal,
  })
  if (open === undefined) return { rows: NO_ROWS, matches }
  if (plan.kind === 'text') return textCandidates(parts, plan.index, open, options)
  const { index, range, covering } = plan
  const rows = candidatesByKey(host, {
    ...scan,
    index: open.index,
    tree: placeOf(kindOf(open).views, index.name).tree,
    range,
    covering,
    collator: views.collator(),
    columns: columnNames(index).map(parseFieldPath),
    matchesKey: keyTells(index, selector) ? matches : undefined,
  })
  return { rows, matches }
}

const NO_ROWS: AsyncIterable<readonly FoundRow[]> = (async function* () {})()

/** The special members that somebody looks at. */
function wantedOf({ selector, fields, sort, conflicts }: FindOptions): WantedMembers {
  const sorted = sort.map(({ name }) => name)
  return wantedMembers([...selectorFields(selector), ...fields, ...sorted], conflicts)
}

/** Whether a look at the keys spares reading documents: not where the range says it all already. */
function keyTells(index: JsonIndex, selector: Selector): boolean {
  const fields = selectorFields(selector)
  const isExact =
    conjunctTests(selector).length === fields.length &&
    fields.every(field => isConstantField(selector, field))
  return !isExact && covers(index, fields)
}

function textCandidates(
  { host, views, compare }: FindParts,
  definition: TextIndex,
  open: OpenIndex,
  options: FindOptions,
): Promise<Candidates> {
  return candidatesByText(host, {
    definition,
    open,
    place: placeOf(kindOf(open).texts, definition.name),
    collator: views.collator(),
    compare: compare(),
    options,
    wanted: wantedOf(options),
    now: () => performance.now(),
    pause,
  })
}

function placeOf<T>(places: ReadonlyMap<string, T>, name: string): T {
  const place = places.get(name)
  if (place === undefined) throw new Failure('index_changed')
  return place
}

function kindOf({ kind }: OpenIndex): MangoKind {
  if (kind instanceof MangoKind) return kind
  throw new Failure('index_changed')
}

async function* shown(
  run: PlanRun<FoundRow>,
  rows: AsyncIterable<readonly FoundRow[]>,
  { fields }: FindOptions,
): AsyncGenerator<readonly FoundDocument[], void, undefined> {
  const project = compileProjection(fields)
  for await (const matches of run.matches(rows)) {
    yield matches.map(({ candidate, document }) => {
      const view = fields.length > 0 ? undefined : candidate.view()
      return view === undefined ? { part: project(document) } : { view }
    })
  }
}

function summaryOf({
  run,
  ranked,
  plan,
  options,
  settings,
  startedMs,
  readsDocuments,
}: {
  readonly run: PlanRun<FoundRow>
  readonly ranked: { readonly examined: number } | undefined
  readonly plan: Plan
  readonly options: FindOptions
  readonly settings: FindSettings
  readonly startedMs: number
  readonly readsDocuments: boolean
}): FindSummary {
  const { last, returned } = run
  const examined = Math.max(run.examined, ranked?.examined ?? 0)
  const documents = readsDocuments ? examined : 0
  const isQuorum = options.readQuorum > 1
  const kind = plan.kind === 'text' ? 'text' : 'row'
  const bookmark = last && ({ kind, id: last.id, key: last.key } as const)
  return {
    bookmark: bookmark ? encodeBookmark(bookmark) : options.bookmarkText,
    warnings: [...plan.warnings, ...scanWarning(documents, returned, settings.scanWarningRatio)],
    statistics: options.executionStats
      ? {
          keysExamined: examined,
          documentsExamined: isQuorum ? 0 : documents,
          quorumDocumentsExamined: isQuorum ? documents : 0,
          resultsReturned: returned,
          milliseconds: performance.now() - startedMs,
        }
      : undefined,
  }
}
