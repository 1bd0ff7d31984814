/**
 * PORT: runs the JavaScript that strangers keep in design documents, isolated from the server.
 *
 * Promises: text in, text out, no object of ours is reachable from a function; every call ends within
 * its time bound; a function that loops, allocates or crashes fails its own request and no other.
 * Documents, keys, values, requests and responses are JSON texts as UTF-8 bytes; nothing is parsed here.
 * Failures: `function_failed`, `function_missing`, `compilation_failed`, `forbidden`, `unauthorized`,
 * `sandbox_timeout`, `sandbox_crashed`, `sandbox_unavailable`; `detail` has the `error` and `reason`
 * for the client. What the answers mean (statuses, headers, rows) is left to the callers.
 */
import type { Failure } from '../../base/errors.ts'
import type { MappedBatch } from './reply-text.ts'

export interface Sandbox {
  /** Compiles map and reduce functions without running them. Fails with `compilation_failed`. */
  compile(databaseKey: string, functions: readonly FunctionSource[]): Promise<void>

  /** Runs every map of the group over every document. Throws of single documents are in the result. */
  mapBatch(group: ViewGroup, documents: readonly Uint8Array[]): Promise<MappedBatch>

  /** Reduces or rereduces many groups; results in the order of the groups. */
  reduceBatch(
    group: ViewGroup,
    inputs: readonly ReduceInput[],
    limit?: ReduceLimit,
  ): Promise<readonly ReduceResult[]>

  /** Runs `validate_doc_update`: per item undefined, or why the document is refused. */
  validate(
    design: DesignSource,
    items: readonly ValidateItem[],
    context: ValidateContext,
  ): Promise<readonly (Failure | undefined)[]>

  /** Runs a filter function over documents: which of them pass. */
  filter(
    design: DesignSource,
    name: string,
    documents: readonly Uint8Array[],
    request: Uint8Array,
  ): Promise<readonly boolean[]>

  /** Uses a map function as filter: a document passes if it emits. */
  filterByView(
    design: DesignSource,
    view: string,
    documents: readonly Uint8Array[],
  ): Promise<readonly boolean[]>

  /** Answers the response object as JSON text. */
  show(
    design: DesignSource,
    name: string,
    document: Uint8Array | null,
    request: Uint8Array,
  ): Promise<Buffer>

  update(
    design: DesignSource,
    name: string,
    document: Uint8Array | null,
    request: Uint8Array,
  ): Promise<UpdateResult>

  /** Answers the rewrite (JSON text: a path or an object), or null when the function declined. */
  rewrite(design: DesignSource, request: Uint8Array): Promise<Buffer | null>

  /** Starts a list function; the caller feeds rows and must run it to the end or close it. */
  list(
    design: DesignSource,
    name: string,
    head: Uint8Array,
    request: Uint8Array,
  ): Promise<ListConversation>

  close(): Promise<void>
}

/** Functions that share a process: never mixed with those of another database. */
interface Environment {
  readonly databaseKey: string
  /** Changes whenever the sources change: a process that knows the key is not sent them again. */
  readonly key: string
}

export interface ViewGroup extends Environment {
  readonly maps: readonly string[]
  readonly reduces: readonly string[]
  /** JSON text of `views.lib`, for `require`. */
  readonly lib?: string
}

export interface DesignSource extends Environment {
  /** JSON text of the whole design document. */
  readonly document: Uint8Array
}

export interface FunctionSource {
  readonly kind: 'map' | 'reduce'
  readonly view: string
  readonly source: string
}

export interface ReduceInput {
  /** Which of the group's reduces. */
  readonly reduce: number
  /** `[[key, id], ...]`; absent for a rereduce. */
  readonly keys?: Uint8Array
  /** `[value, ...]` */
  readonly values: Uint8Array
}

/** What to do with a result that hardly shrinks: refuse it, only log it, or nothing. */
export type ReduceLimit = 'on' | 'log' | 'off'

export type ReduceResult =
  | { readonly ok: true; readonly value: Buffer }
  | { readonly ok: false; readonly error: string; readonly reason: string }

export interface ValidateItem {
  readonly newDocument: Uint8Array
  readonly oldDocument: Uint8Array | null
}

export interface ValidateContext {
  readonly userContext: Uint8Array
  readonly security: Uint8Array
}

export interface UpdateResult {
  /** JSON text of the document to save, or null. */
  readonly document: Buffer | null
  readonly response: Buffer
}

export interface ListConversation {
  /** The response object given to `start`, as JSON text. */
  readonly response: Buffer
  /** What was sent before the first row was asked for. */
  readonly chunk: Buffer
  /** Whether the function still wants rows; false after the end. */
  readonly wantsRows: boolean
  /** Gives rows (JSON text of an array); answers what the function sent meanwhile. */
  feed(rows: Uint8Array, isLast: boolean): Promise<Buffer>
  /** Ends early. Needless after the end, and harmless. */
  close(): void
}
