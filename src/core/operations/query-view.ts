/**
 * Asking a view, the steps in order: find the design document and the view, check the question, bring the index up to
 * date as far as the question wants it, read rows or reductions, add documents where they are wanted.
 *
 * Rows are texts as they go over the wire, in batches at the reader's pace; each batch is one consistent look at the
 * index. Whoever may not see all documents of the database may not ask its views.
 */

import { Failure, isFailure } from '../../base/errors.ts'
import { after, type MaybePromise, rescued } from '../../base/maybe-promise.ts'
import type { Database } from '../database/database.ts'
import type { DatabaseHead } from '../database/database-head.ts'
import { indexStoreId } from '../database/store-names.ts'
import type { CachedDesign } from '../design/design-cache.ts'
import type { IndexLook } from '../indexing/index-looks.ts'
import type { IndexState } from '../indexing/index-state.ts'
import type { OpenIndex } from '../indexing/open-indexes.ts'
import { MangoKind } from '../mango/mango-kind.ts'
import { MapReduceKind } from '../view/map-reduce-kind.ts'
import { reduceView } from '../view/reduce-rows.ts'
import { scanView, scanViewRows } from '../view/scan-view.ts'
import { planViewQuery, type ViewPlan, type ViewQuery } from '../view/view-query.ts'
import type { ViewPlace } from '../view/view-trees.ts'
import { type RowWithDocument, withDocuments } from './view-documents.ts'
import type { ViewServices } from './view-services.ts'

export interface ViewRequest extends ViewQuery {
  /** How an index that is behind is dealt with: waited for (the default), asked as it is, or that and updated later. */
  readonly update?: 'true' | 'false' | 'lazy' | undefined
  readonly partition?: string | undefined
}

export interface ViewAnswer {
  readonly isReduced: boolean
  /** Rows of the view, and rows before the first one of the answer; of no meaning for reductions. */
  readonly total: number
  readonly offset: number
  /** The change of the database up to which the index has come. */
  readonly updateSeq: number
  /** The same of purges, which are no changes. */
  readonly purgeSeq: number
  /** Another one whenever the answer to the same question may be another. */
  readonly state: string
  readonly rows: ViewRows
}

export type ViewRows =
  /** Each text is one row or several joined by `,\r\n`; `whole` has all of them, when these are few. */
  | {
      readonly kind: 'texts'
      readonly batches: AsyncIterable<readonly Buffer[]>
      readonly whole: readonly Buffer[] | undefined
    }
  | { readonly kind: 'documents'; readonly batches: AsyncIterable<readonly RowWithDocument[]> }

export interface ViewParts {
  readonly services: ViewServices
  inBackground(name: string, work: (signal: AbortSignal) => Promise<void>): void
}

/** Fires when the asker is gone; made only when there is something to wait for. */
export type AskerSignal = AbortSignal | (() => AbortSignal)

/** The database as its user sees it. */
export interface ViewHost {
  readonly database: Database
  requireListing(): void
  readDocument(id: string): MaybePromise<unknown>
}

/** Fails with `document_missing`: no such design document, or no such view in it. */
export function openView(
  host: ViewHost,
  parts: ViewParts,
  name: { readonly design: string; readonly view: string },
): MaybePromise<OpenedView> {
  host.requireListing()
  const { database } = host
  return after(
    findDesign(host, parts.services, `_design/${name.design}`),
    design => new OpenedView(database, parts, viewOf(database, parts, design, name.view)),
  )
}

/** Fails as reading it fails: it may be missing or deleted. */
export const findDesign = (
  host: ViewHost,
  services: ViewServices,
  id: string,
): MaybePromise<CachedDesign> =>
  after(
    services.designs.find(host.database, id),
    design => design ?? findMissingDesign(host, services, id),
  )

/** Reading it tells what is wrong, unless somebody has written it just now. */
async function findMissingDesign(
  host: ViewHost,
  { designs }: ViewServices,
  id: string,
): Promise<CachedDesign> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    await host.readDocument(id)
    const design = await designs.find(host.database, id)
    if (design !== undefined) return design
  }
  throw new Failure('engine_busy')
}

interface FoundView {
  readonly name: string
  readonly design: CachedDesign
  readonly open: OpenIndex
  readonly place: ViewPlace
}

function viewOf(
  database: Database,
  parts: ViewParts,
  design: CachedDesign,
  name: string,
): FoundView {
  if (!design.document.views.has(name)) throw missingView()
  const open = parts.services.indexes.of(database, design)
  // Views of JavaScript and JSON indexes of declarative queries are asked alike.
  const { kind } = open
  const isAskable = kind instanceof MapReduceKind || kind instanceof MangoKind
  const place = isAskable ? kind.views.get(name) : undefined
  if (place === undefined) throw missingView()
  return { name, design, open, place }
}

const missingView = (): Failure => new Failure('document_missing', { reason: 'missing_named_view' })

export class OpenedView {
  readonly #database: Database
  readonly #parts: ViewParts
  #view: FoundView

  constructor(database: Database, parts: ViewParts, view: FoundView) {
    this.#database = database
    this.#parts = parts
    this.#view = view
  }

  /** Fails with `query_invalid`. */
  check(request: ViewRequest): void {
    this.#plan(request)
  }

  /** @param signal the asker is gone */
  answer(request: ViewRequest, signal?: AskerSignal, attempt = 1): MaybePromise<ViewAnswer> {
    const plan = this.#plan(request)
    return rescued(
      () => this.#read(plan, request, signal),
      thrown => {
        const isRemoved = isFailure(thrown, 'store_missing')
        const isChanged = isFailure(thrown, 'index_changed')
        if (attempt === ATTEMPTS_MAX || !(isRemoved || isChanged)) throw thrown
        const found = isChanged ? this.#findAgain() : undefined
        return after(found, () => this.answer(request, signal, attempt + 1))
      },
    )
  }

  #plan(request: ViewRequest): ViewPlan {
    const { open, place, design } = this.#view
    checkPartition(design, request)
    const { services } = this.#parts
    const { partition } = request
    const order = open.index.order(place.tree)
    return planViewQuery(request, {
      order: partition === undefined ? order : order.within(partition),
      hasReduce: place.reducer !== undefined,
      limitMax: partition === undefined ? services.limitMax() : services.partitionLimitMax(),
    })
  }

  async #findAgain(): Promise<void> {
    const { name, design } = this.#view
    const found = await this.#parts.services.designs.find(this.#database, design.id)
    if (found === undefined) throw new Failure('document_missing', { reason: 'deleted' })
    this.#view = viewOf(this.#database, this.#parts, found, name)
  }

  /** Looks first: mostly the index is as the question wants it, and then one look at its store is all. */
  #read(
    plan: ViewPlan,
    request: ViewRequest,
    signal: AskerSignal | undefined,
  ): MaybePromise<ViewAnswer> {
    return after(this.#database.head(), head =>
      after(this.#look(plan, request, head), answer => {
        if (request.update === 'false' || isFresh(answer?.state, head)) {
          return answer?.given ?? absent(plan)
        }
        if (request.update !== 'lazy') return this.#readFresh(plan, request, head, signal)
        this.#parts.inBackground(`update of ${this.#view.design.id}`, stopped =>
          this.#bringUp(head, stopped),
        )
        return answer?.given ?? absent(plan)
      }),
    )
  }

  async #readFresh(
    plan: ViewPlan,
    request: ViewRequest,
    head: DatabaseHead,
    signal: AskerSignal | undefined,
  ): Promise<ViewAnswer> {
    await this.#bringUp(head, typeof signal === 'function' ? signal() : signal)
    return (await this.#look(plan, request, head, true))?.given ?? absent(plan)
  }

  async #bringUp(head: DatabaseHead, signal: AbortSignal | undefined): Promise<void> {
    const { open } = this.#view
    const { name, store } = this.#database
    await bringUpIndex(
      this.#parts.services,
      {
        databaseName: name,
        databaseId: store.id,
        designId: open.designId,
        signature: open.signature,
        seq: head.updateSeq,
        purgeSeq: head.purgeSeq,
      },
      signal,
    )
  }

  /** What the index says now; undefined when it is not there and need not be. */
  #look(
    plan: ViewPlan,
    request: ViewRequest,
    head: DatabaseHead,
    mustBeThere = false,
  ): MaybePromise<LookedAt | undefined> {
    return rescued<LookedAt | undefined>(
      () => this.#ask(plan, request, head),
      thrown => {
        if (!mustBeThere && isFailure(thrown, 'store_missing')) return undefined
        throw thrown
      },
    )
  }

  #ask(plan: ViewPlan, request: ViewRequest, head: DatabaseHead): MaybePromise<LookedAt> {
    const { open, place } = this.#view
    const { isReduced } = plan
    const withDocs = request.includeDocs === true && !isReduced
    const given = (look: IndexLook, rest: AnswerRest): LookedAt => {
      const { state, tag } = look
      if (state?.phase !== 'ready') return { state, given: absent(plan) }
      const name = `${open.signature} ${tag} ${withDocs ? head.updateSeq : ''}`
      return {
        state,
        given: {
          isReduced,
          updateSeq: state.progress.seq,
          purgeSeq: state.progress.purgeSeq,
          state: name,
          ...rest,
        },
      }
    }
    if (isReduced) {
      const { number: reducerNumber, reducer } = place.reducer as NonNullable<ViewPlace['reducer']>
      const view = { index: open.index, tree: place.tree, reducerNumber, reducer }
      return after(reduceView(view, plan), ({ look, batches, whole }) =>
        given(look, { total: 0, offset: 0, rows: { kind: 'texts', batches, whole } }),
      )
    }
    if (!withDocs) {
      return after(
        scanView(open.index, place.tree, plan),
        ({ look, total, offset, batches, whole }) =>
          given(look, { total, offset, rows: { kind: 'texts', batches, whole } }),
      )
    }
    return after(
      scanViewRows(open.index, place.tree, plan),
      ({ look, total, offset, batches: rows }) => {
        const batches = withDocuments(this.#database, rows, request.conflicts === true)
        return given(look, { total, offset, rows: { kind: 'documents', batches } })
      },
    )
  }
}

type AnswerRest = Pick<ViewAnswer, 'total' | 'offset' | 'rows'>

interface LookedAt {
  readonly state: IndexState | undefined
  readonly given: ViewAnswer
}

/** The answer of an index that was never built. */
const absent = ({ isReduced }: ViewPlan): ViewAnswer => ({
  isReduced,
  total: 0,
  offset: 0,
  updateSeq: 0,
  purgeSeq: 0,
  state: 'absent',
  rows: { kind: 'texts', batches: nothing(), whole: [] },
})

export const isFresh = (state: IndexState | undefined, head: DatabaseHead): boolean =>
  state?.phase === 'ready' &&
  state.progress.seq >= head.updateSeq &&
  state.progress.purgeSeq >= head.purgeSeq

/** Undefined where there is none. */
export const stateOf = ({ index }: OpenIndex): MaybePromise<IndexState | undefined> =>
  rescued<IndexState | undefined>(
    () => index.state(),
    thrown => {
      if (isFailure(thrown, 'store_missing')) return undefined
      throw thrown
    },
  )

/** Waits no longer than the asker does; the work itself goes on, for the next one who asks. */
export async function bringUpIndex(
  { updates, waiting }: ViewServices,
  request: Parameters<ViewServices['updates']['bringUp']>[0],
  signal: AbortSignal | undefined,
): Promise<void> {
  const id = indexStoreId(request.databaseId, request.signature)
  waiting.set(id, (waiting.get(id) ?? 0) + 1)
  const work = updates.bringUp(request).finally(() => {
    const left = (waiting.get(id) ?? 0) - 1
    if (left > 0) waiting.set(id, left)
    else waiting.delete(id)
  })
  if (signal === undefined) return work
  let leave = (): void => {}
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(new Failure('engine_closed', { reason: 'Nobody waits any more.' }))
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
  })
  try {
    await Promise.race([work, left])
  } finally {
    signal.removeEventListener('abort', leave)
    work.catch(() => {})
  }
}

/** Views, or text indexes. */
const hasIndexes = ({ document: { views, indexes } }: CachedDesign): boolean =>
  views.size > 0 || indexes !== undefined

/** Builds the index of a design document that was just written, ahead of whoever asks it first. */
export async function buildAhead(
  database: Database,
  services: ViewServices,
  designId: string,
  signal: AbortSignal,
): Promise<void> {
  const design = await services.designs.find(database, designId)
  if (design === undefined || !design.document.autoupdate || !hasIndexes(design)) return
  if (services.indexes.signatureOf(design.document) === undefined) return
  const { updateSeq: seq, purgeSeq } = await database.head()
  const { signature } = services.indexes.of(database, design)
  const { name: databaseName, store } = database
  const request = { databaseName, databaseId: store.id, designId, signature, seq, purgeSeq }
  await bringUpIndex(services, request, signal)
}

/** Views of a partitioned database are asked partition by partition, unless their design document says otherwise. */
function checkPartition({ document }: CachedDesign, { partition }: ViewRequest): void {
  const isPartitioned = document.options.partitioned === true
  if (isPartitioned && partition === undefined) {
    const reason = '`partition` parameter is mandatory for queries to this view.'
    throw new Failure('query_invalid', { reason })
  }
  if (!isPartitioned && partition !== undefined) {
    const reason = '`partition` parameter is not supported in this design doc'
    throw new Failure('query_invalid', { reason })
  }
}

async function* nothing(): AsyncGenerator<never> {}

const ATTEMPTS_MAX = 5
