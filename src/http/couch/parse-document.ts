/** Document requests: query parameters and headers of reads and writes, turned into our types. */
import { Failure } from '../../base/errors.ts'
import type { IncomingDocument } from '../../core/document/incoming-document.ts'
import { parseRevision, type Revision, sameRevision } from '../../core/document/revision.ts'
import type { ReadOptions } from '../../core/operations/read-document.ts'
import type { HttpRequest } from '../kit/request.ts'
import type { Params } from '../kit/router.ts'
import type { Query } from '../kit/url.ts'
import type { Exchange } from './exchange.ts'

/** The id in the path: `{id}`, or `_design/{ddoc}` and `_local/{id}`. */
export function documentId(exchange: Exchange): string {
  const { params, request } = exchange
  if (request.url.invalidUtf8At >= 0) throw invalidUtf8(request)
  return documentIdIn(params, request)
}

/** As the path says it, right or wrong. */
export function documentIdIn(params: Params, request: HttpRequest): string {
  const namespace = request.segments[1]
  const isSpecial =
    (namespace === '_design' || namespace === '_local') && request.segments.length > 2
  return isSpecial ? `${namespace}/${params.get('id')}` : params.get('id')
}

/** Nothing can be stored under bytes that are no text: reading finds nothing, writing is refused. */
function invalidUtf8(request: HttpRequest): Failure {
  if (request.method === 'PUT' || request.method === 'POST') {
    return new Failure('document_id_invalid', { reason: 'Document id must be valid UTF-8' })
  }
  return new Failure('document_missing', { reason: 'missing' })
}

export function parseReadOptions(query: Query): ReadOptions {
  const meta = isTrue(query, 'meta')
  const rev = query.get('rev')
  return {
    rev: rev === undefined ? undefined : parseRevision(rev),
    latest: isTrue(query, 'latest'),
    deleted: isTrue(query, 'deleted'),
    revs: isTrue(query, 'revs'),
    revsInfo: meta || isTrue(query, 'revs_info'),
    conflicts: meta || isTrue(query, 'conflicts'),
    deletedConflicts: meta || isTrue(query, 'deleted_conflicts'),
    localSeq: isTrue(query, 'local_seq'),
  }
}

/** Options act for the exact word only; anything else is as if it were not there. */
export const isTrue = (query: Query, name: string): boolean => query.get(name) === 'true'

export function parseRevisionList(text: string): Revision[] {
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch (thrown) {
    throw new Failure('request_invalid', { reason: 'invalid UTF-8 JSON' }, thrown)
  }
  if (!Array.isArray(list)) {
    throw new Failure('request_invalid', { reason: 'a JSON list of revisions is expected' })
  }
  return list.map(parseRevision)
}

export function parseOpenRevs(text: string): 'all' | Revision[] {
  return text === 'all' ? 'all' : parseRevisionList(text)
}

/** The revision a writer names in the query or in `If-Match`; both must agree. */
export function revisionOfRequest(request: HttpRequest): Revision | undefined {
  const text = request.query.get('rev')
  const fromQuery = text === undefined ? undefined : parseRevision(text)
  const fromEtag = ifMatch(request)
  if (fromQuery && fromEtag && !sameRevision(fromQuery, fromEtag)) throw etagDiffers()
  return fromQuery ?? fromEtag
}

/** The document with the one revision that body, query and `If-Match` name. */
export function withRevisionOfRequest(
  document: IncomingDocument,
  request: HttpRequest,
): IncomingDocument {
  const text = request.query.get('rev')
  const fromQuery = text === undefined ? undefined : parseRevision(text)
  const fromEtag = ifMatch(request)
  if (document.rev && fromQuery && !sameRevision(document.rev, fromQuery)) {
    const reason = 'Document rev from request body and query string have different values'
    throw new Failure('request_invalid', { reason })
  }
  const rev = document.rev ?? fromQuery
  if (rev && fromEtag && !sameRevision(rev, fromEtag)) throw etagDiffers()
  const named = rev ?? fromEtag
  return named === undefined ? document : { ...document, rev: named }
}

function ifMatch(request: HttpRequest): Revision | undefined {
  const header = request.header('if-match')
  if (header === undefined) return undefined
  return parseRevision(header.trim().replace(/^"|"$/g, ''))
}

const etagDiffers = (): Failure =>
  new Failure('request_invalid', { reason: 'Document rev and etag have different values' })

/** `Destination` of COPY: an id, perhaps with the revision it replaces. */
export function parseDestination(request: HttpRequest): { id: string; rev: Revision | undefined } {
  const header = request.header('destination')
  if (header === undefined) {
    throw new Failure('request_invalid', { reason: 'Destination header is mandatory for COPY.' })
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(header)) {
    throw new Failure('request_invalid', { reason: 'Destination URL must be relative.' })
  }
  const mark = header.indexOf('?')
  const path = mark < 0 ? header : header.slice(0, mark)
  const rev = mark < 0 ? undefined : /(?:^|&)rev=([^&]*)/.exec(header.slice(mark + 1))?.[1]
  return {
    id: decode(path.replace(/^\/+/, '')),
    rev: rev === undefined ? undefined : parseRevision(decode(rev)),
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (thrown) {
    throw new Failure('request_invalid', { reason: 'invalid_url_encoding' }, thrown)
  }
}
