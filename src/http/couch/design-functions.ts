/** Functions of design documents that answer requests: `_show`, `_update`, `_list`. */
import { Failure, isFailure } from '../../base/errors.ts'
import { printRevision } from '../../core/document/revision.ts'
import type { DesignFunctions, FunctionInput } from '../../core/operations/run-design-function.ts'
import type { ListConversation } from '../../core/sandbox/sandbox.ts'
import { etagOf, notModifiedReply } from '../kit/conditional.ts'
import type { BodyPiece, Reply } from '../kit/reply.ts'
import { limitsOf } from './documents.ts'
import { presentFailure } from './error-table.ts'
import type { Exchange } from './exchange.ts'
import {
  functionReply,
  headerText,
  parseFunctionResponse,
  responseHeaders,
} from './function-response.ts'
import { type ListRows, openListRows } from './list-rows.ts'
import { methodOf, readFunctionBody, requestObject } from './request-object.ts'

export async function showDocument(exchange: Exchange): Promise<Reply> {
  const { name, id } = functionPath(exchange)
  const design = await exchange.database.openDesign(exchange.params.get('ddoc'))
  design.requireFunction('shows', name)
  const input = id === undefined ? undefined : await design.input(id)
  const etag = showEtag(exchange, design, input)
  const unchanged = notModifiedReply(exchange.request, etag)
  if (unchanged !== undefined) return unchanged
  const body = await readFunctionBody(exchange)
  const request = await requestObject(exchange, { id, body })
  const response = await runShow(design, { name, id, input, request })
  const own = [['ETag', etag] as const, ['Vary', 'Accept'] as const]
  return functionReply(exchange, parseFunctionResponse(response), { own })
}

/** What a show answers depends on its sources, its document, what is accepted and who asks. */
function showEtag(
  { request, user }: Exchange,
  design: DesignFunctions,
  input: FunctionInput | undefined,
): string {
  const rev = input === undefined ? null : printRevision(input.rev)
  const accept = request.header('accept') ?? null
  const of = [printRevision(design.rev), rev, accept, user.name, user.roles, request.target]
  return etagOf(JSON.stringify(of))
}

async function runShow(
  design: DesignFunctions,
  show: { name: string; id: string | undefined; input: FunctionInput | undefined; request: Buffer },
): Promise<Buffer> {
  try {
    return await design.show(show.name, show.input, show.request)
  } catch (thrown) {
    // A function that cannot do without its document says so by throwing anything.
    const lacksDocument = show.id !== undefined && show.input === undefined
    if (!lacksDocument || !isFailure(thrown, 'function_failed')) throw thrown
    throw new Failure('document_missing', { reason: 'document not found' }, thrown)
  }
}

export async function updateDocument(exchange: Exchange): Promise<Reply> {
  if (methodOf(exchange.request) === 'GET') {
    const reason = 'Update functions do not allow GET'
    throw new Failure('method_not_allowed', { reason, allow: 'POST, PUT, DELETE' })
  }
  const { name, id } = functionPath(exchange)
  const design = await exchange.database.openDesign(exchange.params.get('ddoc'))
  design.requireFunction('updates', name)
  const input = id === undefined ? undefined : await design.input(id)
  const body = await readFunctionBody(exchange)
  const request = await requestObject(exchange, { id, body })
  const { saved, response } = await design.update(name, input, request, limitsOf(exchange))
  const parsed = parseFunctionResponse(response)
  if (saved === undefined) return functionReply(exchange, parsed)
  const own = [
    ['X-Svc-Update-NewRev', printRevision(saved.rev)] as const,
    ['X-Svc-Id', idHeader(saved.id)] as const,
  ]
  return functionReply(exchange, parsed, { own, defaultCode: 201 })
}

const CONTROL = /[\u0000-\u001f\u007f]/

const idHeader = (id: string): string =>
  CONTROL.test(id) ? encodeURIComponent(id) : headerText(id)

export async function listView(exchange: Exchange): Promise<Reply> {
  const [name, ...view] = exchange.params.rest
  if (name === undefined || view.length === 0 || view.length > 2) throw invalidPath('list_error')
  const design = await exchange.database.openDesign(exchange.params.get('ddoc'))
  design.requireFunction('lists', name)
  const body = await readFunctionBody(exchange)
  const rows = await openListRows(exchange, exchange.params.get('ddoc'), view, body)
  const request = await requestObject(exchange, { body })
  const list = await design.list(name, Buffer.from(rows.head), request)
  try {
    const response = parseFunctionResponse(list.response)
    const headers = responseHeaders(exchange, response, [], 'application/json')
    const status = response.code ?? 200
    if (exchange.request.method === 'HEAD') {
      list.close()
      return { status, headers, body: '' }
    }
    // A client that goes away before the first byte never starts the body, which would close it.
    exchange.request.signal.addEventListener('abort', () => list.close(), { once: true })
    return { status, headers, body: listBody(exchange, list, rows) }
  } catch (thrown) {
    list.close()
    throw thrown
  }
}

const ARRAY_START = Buffer.from('[')
const ARRAY_END = Buffer.from(']')

/** What the function sends, while it is fed rows at the client's pace. */
async function* listBody(
  exchange: Exchange,
  list: ListConversation,
  rows: ListRows,
): AsyncGenerator<BodyPiece, void, undefined> {
  try {
    if (list.chunk.length > 0) yield list.chunk
    for await (const batch of rows.batches) {
      if (!list.wantsRows) return
      yield await list.feed(Buffer.concat([ARRAY_START, batch, ARRAY_END]), false)
    }
    if (list.wantsRows) yield await list.feed(Buffer.from('[]'), true)
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown
    // The head has gone out: the error can only be told in the body.
    const { status, error, reason } = presentFailure(thrown, exchange.dialect)
    yield `\n${JSON.stringify({ code: status, error, reason })}\n`
  } finally {
    list.close()
  }
}

/** `{function}` and perhaps the id of a document, which may have slashes in it. */
function functionPath({ params }: Exchange): { name: string; id: string | undefined } {
  const [name, ...id] = params.rest
  return { name: name as string, id: id.length === 0 ? undefined : id.join('/') }
}

export const showWithoutName = (): never => {
  throw invalidPath('show_error')
}

export const updateWithoutName = (): never => {
  throw invalidPath('update_error')
}

export const listWithoutName = (): never => {
  throw invalidPath('list_error')
}

const invalidPath = (error: string): Failure =>
  new Failure('route_missing', { error, reason: 'Invalid path.' })
