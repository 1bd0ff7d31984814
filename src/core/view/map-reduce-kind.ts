/**
 * Map/reduce views as a kind of index: all views of a design document are one index, with a tree for every different
 * map function and a reducer for every different reduce function of it. Map functions and reduce functions written in
 * JavaScript run in the sandbox; what they are given and what becomes of their answers is here.
 */
import { createHash } from 'node:crypto'
import type { Collation, Collator } from '../../base/collate/collator.ts'
import type { StoredDocument } from '../database/stored-document.ts'
import {
  DEFAULT_LANGUAGE,
  type DesignDocument,
  scopeOf,
  type ViewDefinition,
} from '../document/design-document.ts'
import type { IndexDefinition, IndexKind, IndexKindMaker } from '../indexing/index-kind.ts'
import type { TreeDefinition } from '../indexing/index-tree.ts'
import { type MappedRows, packRows } from '../indexing/mapped-rows.ts'
import type { Sandbox, ViewGroup } from '../sandbox/sandbox.ts'
import { builtinReducer, isBuiltinName } from './builtin-reducers.ts'
import { functionReducer, type RunReduce } from './function-reducer.ts'
import { mapDocument } from './map-document.ts'
import type { ViewReducer } from './view-reducer.ts'
import { type ViewPlace, viewTrees } from './view-trees.ts'

/** What happens to results of reduce functions that hardly shrink (query_server_config/reduce_limit). */
export type ReduceLimit = 'enforce' | 'log' | 'off'

export interface MapReduceParts {
  readonly sandbox: () => Sandbox
  readonly collator: () => Collator
  readonly reduceLimit: () => ReduceLimit
  readonly log: (message: string) => void
}

export class MapReduceMaker implements IndexKindMaker {
  readonly language = DEFAULT_LANGUAGE
  readonly #parts: MapReduceParts

  constructor(parts: MapReduceParts) {
    this.#parts = parts
  }

  signatureOf({ views, lib, options, language }: DesignDocument): string {
    const { includeDesign, localSeq } = options
    const scope = scopeOf(options)
    const parts = [FORMAT, language, [...views], lib, includeDesign, localSeq, scope]
    return createHash('md5').update(JSON.stringify(parts)).digest('hex')
  }

  make(definition: IndexDefinition): MapReduceKind {
    return new MapReduceKind(definition, this.#parts)
  }
}

/** Version of what rows are made of equal sources: another one means other signatures. */
const FORMAT = 1

export class MapReduceKind implements IndexKind {
  readonly name = 'map-reduce'
  readonly trees: readonly TreeDefinition[]
  /** Where the rows and reductions of each view are. */
  readonly views: ReadonlyMap<string, ViewPlace>
  readonly #definition: IndexDefinition
  readonly #parts: MapReduceParts
  readonly #group: ViewGroup

  constructor(definition: IndexDefinition, parts: MapReduceParts) {
    this.#definition = definition
    this.#parts = parts
    const reduces: string[] = []
    const { trees, views, maps } = viewTrees(
      [...definition.design.views].map(([name, view]) => ({
        name,
        map: String(view.map),
        collation: collationOf(view),
        reducer: this.#reducer(view, reduces),
      })),
      definition.design.options.partitioned === true,
    )
    this.trees = trees
    this.views = views
    const { databaseId: databaseKey, signature, design } = definition
    const lib = design.lib === undefined ? {} : { lib: JSON.stringify(design.lib) }
    this.#group = { databaseKey, key: `views ${signature}`, maps, reduces, ...lib }
  }

  /** Design documents belong to no partition: nobody could ask for their rows. */
  get includesDesigns(): boolean {
    const { includeDesign, partitioned } = this.#definition.design.options
    return includeDesign && partitioned !== true
  }

  async rowsOf(documents: readonly StoredDocument[]): Promise<MappedRows> {
    const treeCount = this.trees.length
    if (treeCount === 0) {
      return packRows(
        documents.map(({ id }) => ({ id, rows: [] })),
        0,
      )
    }
    const { localSeq } = this.#definition.design.options
    const ids = documents.map(({ id }) => id)
    const texts = documents.map(document => mapDocument(document, localSeq))
    const batch = await this.#parts.sandbox().mapBatch(this.#group, texts)
    const { bytes, rowEnds, places } = batch
    return { ids, treeCount, bytes, rowEnds, places }
  }

  /** @param reduces sources of those that run in the sandbox; a new one is added */
  #reducer({ reduce }: ViewDefinition, reduces: string[]): ViewReducer | undefined {
    if (reduce === undefined) return undefined
    const { collator, reduceLimit, log } = this.#parts
    const limit = reduceLimit()
    if (isBuiltinName(reduce)) return builtinReducer(reduce, collator(), limit === 'enforce')
    const known = reduces.indexOf(reduce)
    const number = known < 0 ? reduces.push(reduce) - 1 : known
    return functionReducer({ name: reduce, run: this.#runReduce(number), limit, log })
  }

  #runReduce(reduce: number): RunReduce {
    return async calls => {
      const inputs = calls.map(({ keysText, valuesText: values }) =>
        keysText === undefined ? { reduce, values } : { reduce, keys: keysText, values },
      )
      // Whether a result shrinks enough is judged here, by the rules of the row it stands in.
      const results = await this.#parts.sandbox().reduceBatch(this.#group, inputs, 'off')
      return results.map(result =>
        result.ok ? { valueText: result.value } : { error: result.error, reason: result.reason },
      )
    }
  }
}

const collationOf = ({ options }: ViewDefinition): Collation =>
  options.collation === 'raw' ? 'raw' : 'icu'
