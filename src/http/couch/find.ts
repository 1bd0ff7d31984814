/** Declarative queries and their indexes: `_find`, `_explain`, `_index`. */
import { indexJson } from '../../core/mango/index-definition.ts'
import { parseBulkDelete, parseListParameters } from '../../core/mango/index-request.ts'
import type { JsonObject } from '../../core/mango/json-value.ts'
import type {
  FindAnswer,
  FindStatistics,
  FoundDocument,
} from '../../core/operations/find-documents.ts'
import { joinBatch } from '../kit/json-stream.ts'
import type { Reply } from '../kit/reply.ts'
import type { Exchange } from './exchange.ts'
import { scopedFind } from './partition-scope.ts'
import { presentDocument } from './present-document.ts'

export async function postFind(exchange: Exchange): Promise<Reply> {
  const request = scopedFind(exchange, await requestOf(exchange))
  const answer = await exchange.database.find(request, exchange.request.signal)
  const body = presentAnswer(exchange, answer)
  return { status: 200, headers: ['Content-Type', exchange.jsonType], body }
}

/** Held back by one batch, so that a short answer goes out in one piece. */
async function* presentAnswer(
  exchange: Exchange,
  answer: FindAnswer,
): AsyncGenerator<Buffer | string, void, undefined> {
  let before = '{"docs":[\r\n'
  let rows: (Buffer | string)[] = []
  let bytes = 0
  for await (const found of answer.batches) {
    for (const each of found) {
      const text = presentFound(exchange, each)
      rows.push(text)
      bytes += text.length
    }
    if (bytes < PIECE_BYTES) continue
    yield joinBatch(before, ',\r\n', rows)
    before = ',\r\n'
    rows = []
    bytes = 0
  }
  const end = summaryText(exchange, answer)
  const last = rows.pop()
  if (last === undefined) yield before.startsWith('{') ? before + end : end
  else if (typeof last === 'string') yield joinBatch(before, ',\r\n', [...rows, last + end])
  else yield joinBatch(before, ',\r\n', [...rows, Buffer.concat([last, Buffer.from(end)])])
}

const PIECE_BYTES = 64 * 1024

const presentFound = ({ dialect }: Exchange, { view, part }: FoundDocument): Buffer | string =>
  view === undefined ? JSON.stringify(part) : presentDocument(view, { dialect })

async function requestOf(exchange: Exchange): Promise<JsonObject> {
  exchange.requireJsonType()
  return (await exchange.jsonObject()) as JsonObject
}

function summaryText({ dialect }: Exchange, answer: FindAnswer): string {
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
