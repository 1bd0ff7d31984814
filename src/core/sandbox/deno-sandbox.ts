/**
 * The sandbox made of Deno processes without permissions (Node's permission model where Deno has no
 * build): turns the operations of the port into requests and replies into answers.
 *
 * Leaves processes and their number to `sandbox-pool.ts`, one process and its clock to
 * `sandbox-child.ts`, and what runs inside to `program/`. Messages of `log()` and of maps that threw go
 * to `onLog`; nobody waits for it.
 */
import { availableParallelism } from 'node:os'
import { Failure } from '../../base/errors.ts'
import type { ReplyFrame } from './frame-reader.ts'
import { ListRun } from './list-run.ts'
import { GrammarError, MappedBatch, type ReplyItem, replyItems } from './reply-text.ts'
import type {
  DesignSource,
  FunctionSource,
  ListConversation,
  ReduceInput,
  ReduceLimit,
  ReduceResult,
  Sandbox,
  UpdateResult,
  ValidateContext,
  ValidateItem,
  ViewGroup,
} from './sandbox.ts'
import type { SandboxChild } from './sandbox-child.ts'
import { type PoolOptions, SandboxPool } from './sandbox-pool.ts'
import {
  parseThrown,
  plainFailure,
  renderFailure,
  type Thrown,
  validateFailure,
} from './thrown-failure.ts'

export interface DenoSandboxOptions extends Partial<PoolOptions> {
  readonly warn: PoolOptions['warn']
  readonly onLog: (line: SandboxLogLine) => void
  /** Bound of one call of a user function (`couchdb/os_process_timeout`). */
  readonly timeoutMs?: number | (() => number)
  /** How long a list may wait for its next rows. */
  readonly listIdleMsMax?: number
  /** Design documents of one database that a process keeps compiled. */
  readonly environmentsMax?: number
}

export interface SandboxLogLine {
  readonly databaseKey: string
  readonly environmentKey: string
  readonly message: string
}

interface Operation {
  readonly op: string
  readonly name?: string
  readonly count: number
  readonly parts: readonly Uint8Array[]
}

type MakeFailure = (thrown: Thrown) => Failure

const MEGABYTE = 1_048_576

export class DenoSandbox implements Sandbox {
  readonly #pool: SandboxPool
  readonly #onLog: (line: SandboxLogLine) => void
  readonly #boundMs: number | (() => number)
  readonly #listIdleMsMax: number
  readonly #environmentsMax: number
  #environmentCount = 0

  constructor(options: DenoSandboxOptions) {
    this.#onLog = options.onLog
    this.#boundMs = options.timeoutMs ?? 5000
    this.#listIdleMsMax = options.listIdleMsMax ?? 60_000
    this.#environmentsMax = options.environmentsMax ?? 8
    this.#pool = new SandboxPool({
      runtime: options.runtime ?? 'auto',
      processesMax: options.processesMax ?? availableParallelism(),
      waitersMax: options.waitersMax ?? 1000,
      waitMsMax: options.waitMsMax ?? 60_000,
      idleMsMax: options.idleMsMax ?? 300_000,
      restMsMax: options.restMsMax ?? 1000,
      startMsMax: options.startMsMax ?? 10_000,
      heapBytesMax: options.heapBytesMax ?? 256 * MEGABYTE,
      outsideHeapBytesMax: options.outsideHeapBytesMax ?? 128 * MEGABYTE,
      frameBytesMax: options.frameBytesMax ?? 128 * MEGABYTE,
      warn: options.warn,
    })
  }

  /** Read at each call: it may follow a setting. */
  get #timeoutMs(): number {
    return typeof this.#boundMs === 'number' ? this.#boundMs : this.#boundMs()
  }

  get pool(): SandboxPool {
    return this.#pool
  }

  async compile(databaseKey: string, functions: readonly FunctionSource[]): Promise<void> {
    const sources = functions.map(each => each.source)
    const operation = { op: 'compile', count: sources.length, parts: [json(sources)] }
    const environment = { databaseKey, key: 'compile' }
    const items = await this.#withChild(environment, async child => {
      const reply = await this.#ask(child, environment, operation)
      return believe(child, () => replyItems(done(child, reply, plainFailure), sources.length))
    })
    const bad = items.findIndex(item => !item.ok)
    if (bad < 0) return
    const { kind, view } = functions[bad] as FunctionSource
    const { reason } = parseThrown((items[bad] as ReplyItem).text)
    const text = `Compilation of the ${kind} function in the '${view}' view failed: ${reason}`
    throw new Failure('compilation_failed', { error: 'compilation_error', reason: text })
  }

  async mapBatch(group: ViewGroup, documents: readonly Uint8Array[]): Promise<MappedBatch> {
    const parts = arrayParts(documents)
    const operation = { op: 'map', count: documents.length, parts }
    const batch = await this.#run(group, viewsText(group), operation, plainFailure, body => {
      return new MappedBatch(body, documents.length, group.maps.length)
    })
    for (const { message } of batch.throws) {
      this.#log(group, [`function raised exception ${message}`])
    }
    return batch
  }

  async reduceBatch(
    group: ViewGroup,
    inputs: readonly ReduceInput[],
    limit: ReduceLimit = 'on',
  ): Promise<readonly ReduceResult[]> {
    const parts: Uint8Array[] = [Buffer.from(`{"limit":"${limit}","groups":[`)]
    for (const [index, input] of inputs.entries()) {
      const size = input.values.length + (input.keys?.length ?? 0)
      parts.push(Buffer.from(`${index === 0 ? '' : ','}[${input.reduce},${size},`))
      parts.push(input.keys ?? NULL, COMMA, input.values, ARRAY_END)
    }
    parts.push(ARRAY_END, OBJECT_END)
    const operation = { op: 'reduce', count: inputs.length, parts }
    return this.#run(group, viewsText(group), operation, plainFailure, body =>
      replyItems(body, inputs.length).map(reduceResult),
    )
  }

  async validate(
    design: DesignSource,
    items: readonly ValidateItem[],
    context: ValidateContext,
  ): Promise<readonly (Failure | undefined)[]> {
    const parts: Uint8Array[] = [Buffer.from('{"items":[')]
    for (const [index, { newDocument, oldDocument }] of items.entries()) {
      parts.push(index === 0 ? ARRAY_START : NEXT_ARRAY)
      parts.push(newDocument, COMMA, oldDocument ?? NULL, ARRAY_END)
    }
    parts.push(Buffer.from('],"user":'), context.userContext)
    parts.push(Buffer.from(',"security":'), context.security, OBJECT_END)
    const operation = { op: 'validate', count: items.length, parts }
    return this.#runDesign(design, operation, plainFailure, body =>
      replyItems(body, items.length).map(item =>
        item.ok ? undefined : validateFailure(parseThrown(item.text)),
      ),
    )
  }

  async filter(
    design: DesignSource,
    name: string,
    documents: readonly Uint8Array[],
    request: Uint8Array,
  ): Promise<readonly boolean[]> {
    const parts = [Buffer.from('{"req":'), request, ...docsParts(documents)]
    const operation = { op: 'filter', name, count: documents.length, parts }
    return this.#runDesign(design, operation, plainFailure, body => passes(body, documents.length))
  }

  async filterByView(
    design: DesignSource,
    view: string,
    documents: readonly Uint8Array[],
  ): Promise<readonly boolean[]> {
    const parts = [Buffer.from('{"req":null'), ...docsParts(documents)]
    const operation = { op: 'view-filter', name: view, count: documents.length, parts }
    return this.#runDesign(design, operation, plainFailure, body => passes(body, documents.length))
  }

  async show(
    design: DesignSource,
    name: string,
    document: Uint8Array | null,
    request: Uint8Array,
  ): Promise<Buffer> {
    const operation = { op: 'show', name, count: 1, parts: callParts(document, request) }
    return this.#runDesign(design, operation, renderFailure, body => body)
  }

  async update(
    design: DesignSource,
    name: string,
    document: Uint8Array | null,
    request: Uint8Array,
  ): Promise<UpdateResult> {
    const operation = { op: 'update', name, count: 1, parts: callParts(document, request) }
    return this.#runDesign(design, operation, renderFailure, body => {
      const [saved, response] = replyItems(body, 2) as [ReplyItem, ReplyItem]
      const isNull = NULL.equals(saved.text)
      return { document: isNull ? null : saved.text, response: response.text }
    })
  }

  async rewrite(design: DesignSource, request: Uint8Array): Promise<Buffer | null> {
    const operation = { op: 'rewrite', count: 1, parts: callParts(null, request) }
    return this.#runDesign(design, operation, plainFailure, body =>
      body.length === 0 ? null : body,
    )
  }

  async list(
    design: DesignSource,
    name: string,
    head: Uint8Array,
    request: Uint8Array,
  ): Promise<ListConversation> {
    const parts = [Buffer.from('{"head":'), head, Buffer.from(',"req":'), request, OBJECT_END]
    const child = await this.#pool.acquire(design.databaseKey, design.key)
    try {
      await this.#open(child, design, () => design.document)
      const operation = { op: 'list', name, count: 1, parts }
      const started = await this.#ask(child, design, operation)
      return new ListRun(child, started, {
        timeoutMs: this.#timeoutMs,
        idleMsMax: this.#listIdleMsMax,
        release: () => this.#pool.release(child),
        log: lines => this.#log(design, lines),
      })
    } catch (error) {
      this.#pool.release(child)
      throw error
    }
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  /** Runs one operation in the environment of these sources, opened first where it is new. */
  async #run<T>(
    environment: KeyedEnvironment,
    source: () => Uint8Array,
    operation: Operation,
    failure: MakeFailure,
    read: (body: Buffer) => T,
  ): Promise<T> {
    return this.#withChild(environment, async child => {
      await this.#open(child, environment, source)
      const reply = await this.#ask(child, environment, operation)
      return believe(child, () => read(done(child, reply, failure)))
    })
  }

  /** The same in the environment of a whole design document. */
  #runDesign<T>(
    design: DesignSource,
    operation: Operation,
    failure: MakeFailure,
    read: (body: Buffer) => T,
  ): Promise<T> {
    return this.#run(design, () => design.document, operation, failure, read)
  }

  async #withChild<T>(
    environment: KeyedEnvironment,
    work: (child: SandboxChild) => Promise<T>,
  ): Promise<T> {
    const child = await this.#pool.acquire(environment.databaseKey, environment.key)
    try {
      return await work(child)
    } finally {
      this.#pool.release(child)
    }
  }

  async #open(
    child: SandboxChild,
    environment: KeyedEnvironment,
    source: () => Uint8Array,
  ): Promise<void> {
    const { environments } = child
    const { key } = environment
    const known = environments.get(key)
    if (known !== undefined) {
      environments.delete(key)
      environments.set(key, known)
      return
    }
    const drop: number[] = []
    for (const [oldest, id] of environments) {
      if (environments.size < this.#environmentsMax) break
      environments.delete(oldest)
      drop.push(id)
    }
    const id = ++this.#environmentCount
    // The kind tells the process whether it gets a view group or a whole design document.
    const kind = 'maps' in environment ? 'views' : 'design'
    const header = { op: 'open', env: id, kind, drop }
    const parts = [source()]
    const bounds = { timeoutMs: this.#timeoutMs, callCount: 1 }
    const reply = await child.request({ header, parts, ...bounds })
    this.#log(environment, reply.log)
    believe(child, () => done(child, reply, plainFailure))
    environments.set(key, id)
  }

  async #ask(
    child: SandboxChild,
    environment: KeyedEnvironment,
    operation: Operation,
  ): Promise<ReplyFrame> {
    const { op, name, count, parts } = operation
    const env = child.environments.get(environment.key) ?? 0
    const beatMs = Math.ceil(this.#timeoutMs / 4)
    const header = { op, env, name, count, beatMs }
    const bounds = { timeoutMs: this.#timeoutMs, callCount: count }
    const reply = await child.request({ header, parts, ...bounds })
    this.#log(environment, reply.log)
    return reply
  }

  #log(environment: KeyedEnvironment, lines: readonly string[]): void {
    const { databaseKey, key } = environment
    for (const message of lines) this.#onLog({ databaseKey, environmentKey: key, message })
  }
}

interface KeyedEnvironment {
  readonly databaseKey: string
  readonly key: string
}

const NULL = Buffer.from('null')
const COMMA = Buffer.from(',')
const ARRAY_START = Buffer.from('[')
const NEXT_ARRAY = Buffer.from(',[')
const ARRAY_END = Buffer.from(']')
const OBJECT_END = Buffer.from('}')

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

const viewsText = (group: ViewGroup) => (): Buffer => {
  const { maps, reduces, lib } = group
  const text = `{"maps":${JSON.stringify(maps)},"reduces":${JSON.stringify(reduces)}`
  return Buffer.from(`${text},"lib":${lib ?? '{}'}}`)
}

/** The body of a reply that says done; otherwise the failure it tells. */
function done(child: SandboxChild, reply: ReplyFrame, failure: MakeFailure): Buffer {
  if (reply.kind === 'done') return reply.body
  if (reply.kind !== 'failed') throw new GrammarError(`${reply.kind} where an end was due`)
  const thrown = parseThrown(reply.body)
  if (thrown.form === 'fatal') child.mustRetire = true
  throw failure(thrown)
}

function believe<T>(child: SandboxChild, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof GrammarError ? child.distrust(error) : error
  }
}

function arrayParts(texts: readonly Uint8Array[]): Uint8Array[] {
  const parts: Uint8Array[] = [ARRAY_START]
  for (let i = 0; i < texts.length; i++) {
    if (i > 0) parts.push(COMMA)
    parts.push(texts[i] as Uint8Array)
  }
  parts.push(ARRAY_END)
  return parts
}

const docsParts = (documents: readonly Uint8Array[]): Uint8Array[] => [
  Buffer.from(',"docs":'),
  ...arrayParts(documents),
  OBJECT_END,
]

const callParts = (document: Uint8Array | null, request: Uint8Array): Uint8Array[] => [
  Buffer.from('{"doc":'),
  document ?? NULL,
  Buffer.from(',"req":'),
  request,
  OBJECT_END,
]

function passes(body: Buffer, count: number): readonly boolean[] {
  if (body.length !== count) throw new GrammarError('not one answer per document')
  return Array.from(body, byte => byte === 0x31)
}

function reduceResult(item: ReplyItem): ReduceResult {
  if (item.ok) return { ok: true, value: item.text }
  const thrown = JSON.parse(item.text.toString('utf8')) as { error?: unknown; reason?: unknown }
  return { ok: false, error: String(thrown.error), reason: String(thrown.reason) }
}
