/** `_changes` of another server: the request for a page of it, and the page. */

import { ItemCutter } from './cut-json.ts'
import { type ClientCall, type HttpAnswer, jsonCall } from './http-client.ts'
import type { ChangeRow, ChangesPage, ChangesQuery } from './peer.ts'
import type { PeerSequence } from './peer-sequence.ts'
import { passing } from './retry.ts'

const ROW_BYTES_MAX = 16 * 1024 * 1024

export const sequenceText = (seq: PeerSequence): string =>
  typeof seq === 'string' ? seq : JSON.stringify(seq ?? 0)

export function changesCall({ since, limit, waitMs, allLeaves, narrow }: ChangesQuery): ClientCall {
  const query = new URLSearchParams({
    feed: waitMs > 0 ? 'longpoll' : 'normal',
    style: allLeaves ? 'all_docs' : 'main_only',
    since: sequenceText(since),
    limit: String(limit),
  })
  if (waitMs > 0) query.set('timeout', String(waitMs))
  const path = (): string => `_changes?${query.toString()}`
  if (narrow.kind === 'ids') {
    query.set('filter', '_doc_ids')
    return jsonCall('POST', path(), JSON.stringify({ doc_ids: narrow.ids }))
  }
  if (narrow.kind === 'selector') {
    query.set('filter', '_selector')
    return jsonCall('POST', path(), `{"selector":${narrow.selector}}`)
  }
  if (narrow.kind === 'filter') {
    query.set('filter', narrow.name)
    for (const [key, value] of Object.entries(narrow.params)) {
      query.set(key, typeof value === 'string' ? value : JSON.stringify(value))
    }
  }
  return { method: 'GET', path: path() }
}

export async function readPage(answer: HttpAnswer): Promise<ChangesPage> {
  const cutter = new ItemCutter(ROW_BYTES_MAX)
  const rows: ChangeRow[] = []
  for await (const chunk of answer.chunks()) {
    for (const item of cutter.push(chunk)) rows.push(readRow(item))
  }
  const { last_seq: lastSeq, pending } = cutter.end()
  if (lastSeq === undefined) throw passing('the other server does not say how far it came')
  return { rows, lastSeq, pending: typeof pending === 'number' ? pending : null }
}

function readRow(item: Buffer): ChangeRow {
  const { id, seq, changes } = JSON.parse(item.toString('utf8')) as {
    id: unknown
    seq: unknown
    changes: unknown
  }
  const isRow = typeof id === 'string' && Array.isArray(changes)
  if (!isRow) throw passing('the other server sent a bad change')
  return { id, seq, revs: (changes as { rev: unknown }[]).map(({ rev }) => String(rev)) }
}
