/**
 * Declarative queries: `_find` and `_explain`. The steps: parse, choose an index, bring it up to date, scan, match, show.
 *
 * Promises: memory does not grow with the database, and other requests run while a scan goes on. Every document that
 * is shown matched as it was when it was read, however old the index is.
 */
import { setImmediate as pause } from 'node:timers/promises'
import { Failure, isFailure } from '../../base/errors.ts'
import { after, type MaybePromise, rescued } from '../../base/maybe-promise.ts'
import type { Pull } from '../../base/pull.ts'
import type { DesignSet } from '../design/design-cache.ts'
import type { IndexState } from '../indexing/index-state.ts'
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
import type { Compare, JsonObject } from '../mango/json-value.ts'
import { MangoKind, wantedMembers } from '../mango/mango-kind.ts'
import { compileMatcher, type Matcher } from '../mango/match.ts'
import { type FindOptions, parseFindOptions } from '../mango/options.ts'
import { covers, type Plan, planFind, scanWarning } from '../mango/plan.ts'
import { compileProjection } from '../mango/projection.ts'
import { type Match, PlanRun } from '../mango/run-plan.ts'
import { conjunctTests, isConstantField, type Selector, selectorFields } from '../mango/selector.ts'
import type { WantedMembers } from '../mango/selector-document.ts'
import { candidatesById } from './find-by-id.ts'
import { candidatesByKey, type KeyScan, rowScanOf } from './find-by-key.ts'
import { candidatesByText } from './find-by-text.ts'
import type { FindHost } from './find-host.ts'
import type { FoundDocument, FoundRow } from './found-rows.ts'
import { lookAtQueryIndex } from './open-query-index.ts'
import type { AskerSignal } from './query-view.ts'
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

export interface FindAnswer {
  /** Batches that are not empty. */
  readonly next: Pull<readonly FoundDocument[]>
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
export function findDocuments(
  parts: FindParts,
  request: JsonObject,
  signal?: AskerSignal,
): MaybePromise<FindAnswer> {
  return attempt(parts, parseFindOptions(request, parts.settings), signal, 1)
}

const attempt = (
  parts: FindParts,
  options: FindOptions,
  signal: AskerSignal | undefined,
  number: number,
): MaybePromise<FindAnswer> =>
  rescued(
    () => answer(parts, options, signal),
    thrown => {
      // Somebody changed or removed the index after the plan was made.
      const isGone = isFailure(thrown, 'index_changed') || isFailure(thrown, 'store_missing')
      if (!isGone || number === ATTEMPTS_MAX) throw thrown
      return attempt(parts, options, signal, number + 1)
    },
  )

const ATTEMPTS_MAX = 5

function answer(
  parts: FindParts,
  options: FindOptions,
  signal: AskerSignal | undefined,
): MaybePromise<FindAnswer> {
  const { host } = parts
  const startedMs = performance.now()
  if (options.partition !== '' && !host.database.properties.partitioned) {
    const reason = '`partition` parameter is not supported on this db'
    throw new Failure('query_invalid', { reason })
  }
  return after(parts.views.designs.of(host.database), designs => {
    const plan = planFind(options, definitionsOf(parts, designs), planSettings(parts))
    if (plan.isEmpty) return NOTHING
    return after(candidatesOf(parts, { plan, options, designs, signal }), candidates =>
      answerWith(parts, { plan, options, startedMs }, candidates),
    )
  })
}

function answerWith(
  { host, settings }: FindParts,
  { plan, options, startedMs }: { plan: Plan; options: FindOptions; startedMs: number },
  { rows, matches, ranked }: Candidates,
): FindAnswer {
  const { skip, limit } = options
  const now = () => performance.now()
  const run = new PlanRun<FoundRow>({ matches, skip, limit, now, pause })
  const readsDocuments = !plan.covering || host.narrowsDocuments
  return {
    next: shown(run.matches(rows), options),
    summary: () => summaryOf({ run, ranked, plan, options, settings, startedMs, readsDocuments }),
  }
}

const NOTHING: FindAnswer = {
  next: () => undefined,
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
export const indexesOf = async (
  parts: Pick<FindParts, 'host' | 'views' | 'settings'>,
): Promise<readonly IndexDefinition[]> =>
  definitionsOf(parts, await parts.views.designs.of(parts.host.database))

function definitionsOf(
  { host, settings }: Pick<FindParts, 'host' | 'settings'>,
  set: DesignSet,
): readonly IndexDefinition[] {
  const known = parsedIndexes.get(set)
  if (known?.textSearch === settings.textSearch) return known.indexes
  const { partitioned } = host.database.properties
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
  readonly rows: Pull<readonly FoundRow[]>
  readonly matches: Matcher
  readonly ranked?: { readonly examined: number }
}

interface Asked {
  readonly plan: Plan
  readonly options: FindOptions
  readonly designs: DesignSet
  readonly signal: AskerSignal | undefined
}

function candidatesOf(parts: FindParts, asked: Asked): MaybePromise<Candidates> {
  const { host } = parts
  const { plan, options } = asked
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
  const open = indexNamed(parts, asked.designs, plan.index.ddoc)
  const request = { open, update: options.update && !options.stale, signal: asked.signal }
  if (plan.kind === 'text') {
    const { index } = plan
    const fresh = lookAtQueryIndex(host.database, parts.views, request, () => stateOnly(open))
    return after(fresh, look =>
      look === undefined ? { rows: NO_ROWS, matches } : textCandidates(parts, index, open, options),
    )
  }
  const { index, range, covering } = plan
  const { tree } = placeOf(kindOf(open).views, index.name)
  const keyScan: KeyScan = {
    ...scan,
    range,
    covering,
    collator: parts.views.collator(),
    columns: columnNames(index).map(parseFieldPath),
    ...keyMatching(index, selector, matches),
  }
  const rowScan = rowScanOf(keyScan, open.index.order(tree))
  const opened = lookAtQueryIndex(host.database, parts.views, request, () =>
    open.index.openScan(tree, rowScan),
  )
  return after(opened, found => {
    const rows = found === undefined ? NO_ROWS : candidatesByKey(host, keyScan, found)
    return { rows, matches }
  })
}

const stateOnly = ({
  index,
}: OpenIndex): MaybePromise<{ look: { state: IndexState | undefined } }> =>
  after(index.state(), state => ({ look: { state } }))

function indexNamed({ host, views }: FindParts, designs: DesignSet, id: string): OpenIndex {
  const design = designs.byId.get(id)
  if (design === undefined) throw new Failure('index_changed')
  return views.indexes.of(host.database, design)
}

const NO_ROWS: Pull<readonly FoundRow[]> = () => undefined

/** The special members that somebody looks at. */
function wantedOf({ selector, fields, sort, conflicts }: FindOptions): WantedMembers {
  const sorted = sort.map(({ name }) => name)
  return wantedMembers([...selectorFields(selector), ...fields, ...sorted], conflicts)
}

/** What keys can tell; looking at each before its document is read spares nothing where the range says it all already. */
function keyMatching(
  index: JsonIndex,
  selector: Selector,
  matches: Matcher,
): Pick<KeyScan, 'matchesKey' | 'skipsByKey'> {
  const fields = selectorFields(selector)
  const isExact =
    conjunctTests(selector).length === fields.length &&
    fields.every(field => isConstantField(selector, field))
  const isTold = fields.length === 0 || covers(index, fields)
  const matchesKey = isTold ? matches : undefined
  return { matchesKey, skipsByKey: isTold && fields.length > 0 && !isExact }
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

function shown(
  next: Pull<readonly Match<FoundRow>[]>,
  { fields }: FindOptions,
): Pull<readonly FoundDocument[]> {
  const project = compileProjection(fields)
  const shownOf = ({ candidate, document }: Match<FoundRow>): FoundDocument => {
    const whole = fields.length > 0 ? undefined : candidate.shown()
    return whole ?? { part: project(document ?? candidate.document() ?? null) }
  }
  return () => after(next(), matches => matches?.map(shownOf))
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
