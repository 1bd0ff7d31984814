/** Declarative queries and their indexes: `_find`, `_explain`, `_index`. */
import type { Dialect } from '../../core/dialect/dialect.ts'
import { indexJson } from '../../core/mango/index-definition.ts'
import { parseBulkDelete, parseListParameters } from '../../core/mango/index-request.ts'
import type { JsonObject } from '../../core/mango/json-value.ts'
import type { FindAnswer, FindStatistics } from '../../core/operations/find-documents.ts'
import type { FoundDocument } from '../../core/operations/found-rows.ts'
import type { Reply } from '../kit/reply.ts'
import type { Exchange } from './exchange.ts'
import { scopedFind } from './partition-scope.ts'
import { presentDocument } from './present-document.ts'
import { RowWriter } from './present-rows.ts'

export async function postFind(exchange: Exchange): Promise<Reply> {
  const request = scopedFind(exchange, await requestOf(exchange))
  const answer = await exchange.database.find(request, () => exchange.request.signal)
  const reply = { status: 200, headers: ['Content-Type', exchange.jsonType] }
  const page = new FoundPage(exchange)
  while (page.length < PIECE_BYTES) {
    const batch = answer.next()
    const found = batch instanceof Promise ? await batch : batch
    if (found === undefined) return { ...reply, body: page.end(answer), inChunks: true }
    page.add(found)
  }
  return { ...reply, body: streamed(page, answer) }
}

/** What is too long to be held. */
async function* streamed(
  page: FoundPage,
  answer: FindAnswer,
): AsyncGenerator<Buffer, void, undefined> {
  yield page.take()
  for (let found = await answer.next(); found !== undefined; found = await answer.next()) {
    page.add(found)
    if (page.length >= PIECE_BYTES) yield page.take()
  }
  yield page.end(answer)
}

const PIECE_BYTES = 64 * 1024

/** The body of the answer, written as documents are found. */
class FoundPage {
  readonly #dialect: Dialect
  readonly #rows: RowWriter

  constructor({ dialect }: Exchange) {
    this.#dialect = dialect
    this.#rows = new RowWriter({
      separator: ',\r\n',
      includeDocs: true,
      conflicts: false,
      presentOthers: document => presentDocument(document.view({}), { dialect }),
    })
    this.#rows.text('{"docs":[\r\n')
  }

  get length(): number {
    return this.#rows.length
  }

  add(documents: readonly FoundDocument[]): void {
    for (const found of documents) {
      if (found.stored !== undefined) this.#rows.bareDocument(found.stored)
      else if (found.view === undefined) this.#rows.text(JSON.stringify(found.part), true)
      else this.#rows.bytes(presentDocument(found.view, { dialect: this.#dialect }))
    }
  }

  take(): Buffer {
    return this.#rows.take()
  }

  end(answer: FindAnswer): Buffer {
    this.#rows.text(summaryText(this.#dialect, answer))
    return this.#rows.take()
  }
}

async function requestOf(exchange: Exchange): Promise<JsonObject> {
  exchange.requireJsonType()
  return (await exchange.jsonObject()) as JsonObject
}

function summaryText(dialect: Dialect, answer: FindAnswer): string {
  const { bookmark, warnings, statistics } = answer.summary()
  if (bookmark === undefined) return ']}\n'
  const members = [`"bookmark": ${JSON.stringify(bookmark)}`]
  if (statistics !== undefined) {
    const json = statisticsJson(statistics, dialect.keysExaminedIsZero)
    members.push(`"execution_stats": ${JSON.stringify(json)}`)
  }
  if (warnings.length > 0) members.push(`"warning": ${JSON.stringify(warnings.join('\n'))}`)
  return `\r\n],\r\n${members.join(',\r\n')}}\n`
}

const statisticsJson = (statistics: FindStatistics, keysAreZero: boolean): JsonObject => ({
  total_keys_examined: keysAreZero ? 0 : statistics.keysExamined,
  total_docs_examined: statistics.documentsExamined,
  total_quorum_docs_examined: statistics.quorumDocumentsExamined,
  results_returned: statistics.resultsReturned,
  execution_time_ms: Number(statistics.milliseconds.toFixed(3)),
})

export async function postExplain(exchange: Exchange): Promise<Reply> {
  const request = scopedFind(exchange, await requestOf(exchange))
  return exchange.value(200, await exchange.database.explain(request))
}

export async function getIndexes(exchange: Exchange): Promise<Reply> {
  const { query } = exchange.request
  const { limit, skip } = parseListParameters(query.get('limit'), query.get('skip'))
  const indexes = await exchange.database.listIndexes()
  const shown = indexes.slice(skip, skip + limit).map(indexJson)
  return exchange.value(200, { total_rows: indexes.length, indexes: shown })
}

export async function postIndex(exchange: Exchange): Promise<Reply> {
  const request = await requestOf(exchange)
  const { created, id, name } = await exchange.database.createIndex(request)
  return exchange.value(200, { result: created ? 'created' : 'exists', id, name })
}

/** `_index/{ddoc}/{type}/{name}`, where the design document may be spelt with its `_design/`. */
export async function deleteIndex(exchange: Exchange): Promise<Reply> {
  const { params } = exchange
  const [ddoc, type, name] = [params.get('ddoc'), params.get('type'), params.get('name')]
  await exchange.database.deleteIndex({ ddoc, type, name })
  return exchange.ok()
}

export async function bulkDeleteIndexes(exchange: Exchange): Promise<Reply> {
  const ids = parseBulkDelete(await requestOf(exchange))
  const results = await exchange.database.deleteIndexDesigns(ids)
  const failed = results.filter(({ failure }) => failure !== undefined)
  return exchange.value(200, {
    success: results
      .filter(({ failure }) => failure === undefined)
      .map(({ id }) => ({ id, ok: true })),
    fail: failed.map(({ id, failure }) => ({
      id,
      error: failure?.code === 'document_missing' ? 'not_found' : failure?.code,
    })),
  })
}
