/**
 * Revisions with the contents of their attachments, read over HTTP: `open_revs` answered as multipart/mixed, in which
 * a revision with contents is multipart/related again. A server that knows no multipart sends JSON with contents
 * inside.
 */
import { elementsOf, membersOf } from './cut-json.ts'
import { fetchedDocument } from './fetched-document.ts'
import type { ClientCall, HttpAnswer } from './http-client.ts'
import { type BodyPart, boundaryOf, MultipartReader } from './multipart-stream.ts'
import type { RevisionStream, Wanted } from './peer.ts'
import { passing } from './retry.ts'

/** `_design/x` and `_local/x` keep their slash. */
export function encodeDocumentId(id: string): string {
  const design = id.startsWith('_design/') ? '_design/' : ''
  return `${design}${encodeURIComponent(id.slice(design.length))}`
}

type Send = (call: ClientCall) => Promise<HttpAnswer>

/** URLs longer than this are refused by many servers on the way. */
const LIST_BYTES_MAX = 4000
const TEXT_BYTES_MAX = 256 * 1024 * 1024

export async function* readRevisions(wanted: Wanted, send: Send): AsyncGenerator<RevisionStream> {
  for (const revs of inPieces(wanted.revs)) yield* readPiece({ ...wanted, revs }, send)
}

async function* readPiece(wanted: Wanted, send: Send): AsyncGenerator<RevisionStream> {
  const path = pathOf(wanted)
  const answer = await send({ method: 'GET', path, headers: { Accept: 'multipart/mixed' } })
  const boundary = boundaryOf(answer.header('content-type'))
  if (boundary === undefined) {
    await answer.drop()
    yield* readInline(wanted.id, `${path}&attachments=true`, send)
    return
  }
  const reader = new MultipartReader(answer.chunks(), boundary)
  try {
    for (let part = await reader.next(); part !== undefined; part = await reader.next()) {
      const revision = await revisionIn(part, wanted.id)
      if (revision !== undefined) yield revision
    }
  } finally {
    await reader.close()
  }
}

function pathOf({ id, revs, ancestors }: Wanted): string {
  const list = encodeURIComponent(JSON.stringify(revs))
  const since = JSON.stringify(ancestors)
  const known =
    ancestors.length === 0 || since.length > LIST_BYTES_MAX
      ? ''
      : `&atts_since=${encodeURIComponent(since)}`
  return `${encodeDocumentId(id)}?revs=true&latest=true&open_revs=${list}${known}`
}

function* inPieces(revs: readonly string[]): Generator<readonly string[]> {
  let piece: string[] = []
  let bytes = 0
  for (const rev of revs) {
    if (bytes > LIST_BYTES_MAX) {
      yield piece
      piece = []
      bytes = 0
    }
    piece.push(rev)
    bytes += rev.length + 3
  }
  if (piece.length > 0) yield piece
}

/** Undefined for a revision that is not there. */
async function revisionIn(part: BodyPart, id: string): Promise<RevisionStream | undefined> {
  const type = part.headers.get('content-type') ?? ''
  if (/error\s*=/.test(type)) return undefined
  const boundary = boundaryOf(type)
  if (boundary === undefined) return { ...named(await readAll(part.body), id), parts: none() }
  const inner = new MultipartReader(part.body, boundary)
  const first = await inner.next()
  if (first === undefined) throw passing('the other server sent an empty document')
  return { ...named(await readAll(first.body), id), parts: bodies(inner) }
}

function named(text: Buffer, id: string): { id: string; rev: string; text: Buffer } {
  const document = fetchedDocument(text, { start: 0, end: text.length }, id)
  return { id, rev: document.rev, text }
}

async function* bodies(reader: MultipartReader): AsyncGenerator<AsyncIterable<Buffer>> {
  for (let part = await reader.next(); part !== undefined; part = await reader.next()) {
    yield part.body
  }
}

async function* none(): AsyncGenerator<AsyncIterable<Buffer>> {
  // nothing follows
}

async function* readInline(id: string, path: string, send: Send): AsyncGenerator<RevisionStream> {
  const answer = await send({ method: 'GET', path })
  const bytes = await answer.bytes()
  for (const element of elementsOf(bytes, 0)) {
    for (const member of membersOf(bytes, element.start)) {
      if (member.key !== 'ok') continue
      const { rev, text } = fetchedDocument(bytes, member, id)
      yield { id, rev, text, parts: none() }
    }
  }
}

async function readAll(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    parts.push(chunk)
    bytes += chunk.length
    if (bytes > TEXT_BYTES_MAX) throw passing('the other server sent too large a document')
  }
  return Buffer.concat(parts, bytes)
}
