/**
 * The name of a replication: the same two ends, asked for in the same way, have the same one on every server that
 * makes it as CouchDB does, so that checkpoints survive a change of the server that replicates.
 *
 * It is the MD5 of Erlang external term bytes of a list: the server's uuid, the ends, and what narrows the documents.
 * Passwords are no part of it.
 */
import { createHash } from 'node:crypto'
import { parseJson } from '../../base/json/exact-json.ts'
import { TAG, TermBuffer } from '../../base/json/term-buffer.ts'
import { fromParts } from '../document/incoming-document.ts'

export interface NamedEndpoint {
  readonly user?: string | undefined
  readonly host: string
  /** Undefined: the usual one of http or https. */
  readonly port?: number | undefined
  /** With a slash at the end. */
  readonly path: string
  readonly headers: readonly (readonly [string, string])[]
}

export interface NamedReplication {
  readonly serverUuid: string
  readonly source: NamedEndpoint
  readonly target: NamedEndpoint
  readonly docIds?: readonly string[] | undefined
  /** JSON text of an object. */
  readonly selector?: string | undefined
  readonly filter?: NamedFilter | undefined
  readonly winningRevsOnly?: boolean
  readonly continuous?: boolean
  readonly createTarget?: boolean
}

export interface NamedFilter {
  /** The function's source, or the name of a built-in filter. */
  readonly code: string
  readonly queryParams: Readonly<Record<string, unknown>>
}

/** @returns the base, and with it what `continuous` and `create_target` append */
export function replicationId(named: NamedReplication): { base: string; id: string } {
  const term = new TermBuffer(1024)
  term.putByte(TAG.version)
  const parts = filterParts(named)
  term.putByte(TAG.list)
  term.putUint32(3 + parts.length)
  term.putText(named.serverUuid)
  putEndpoint(term, named.source)
  putEndpoint(term, named.target)
  for (const part of parts) part(term)
  term.putByte(TAG.nil)
  const base = createHash('md5').update(term.bytes.subarray(0, term.at)).digest('hex')
  const continuous = named.continuous === true ? '+continuous' : ''
  const createTarget = named.createTarget === true ? '+create_target' : ''
  return { base, id: `${base}${continuous}${createTarget}` }
}

type Part = (term: TermBuffer) => void

function filterParts(named: NamedReplication): Part[] {
  const parts: Part[] = []
  const { docIds, selector, filter } = named
  if (docIds !== undefined) parts.push(term => putList(term, [...new Set(docIds)].sort()))
  else if (selector !== undefined) parts.push(term => putObject(term, selector))
  else if (filter !== undefined) {
    parts.push(term => term.putText(filter.code.trim()))
    parts.push(term => putObject(term, sortedText(filter.queryParams)))
  }
  if (named.winningRevsOnly === true) parts.push(term => term.putText('winning_revs_only'))
  return parts
}

function putEndpoint(term: TermBuffer, endpoint: NamedEndpoint): void {
  term.putByte(TAG.tuple)
  term.putByte(7)
  putAtom(term, 'remote')
  if (endpoint.user === undefined) putAtom(term, 'undefined')
  else putString(term, endpoint.user)
  putString(term, endpoint.host)
  if (endpoint.port === undefined) putAtom(term, 'default')
  else term.putInteger(endpoint.port)
  putString(term, endpoint.path)
  putHeaders(term, endpoint.headers)
  putAtom(term, 'undefined')
}

function putHeaders(term: TermBuffer, headers: NamedEndpoint['headers']): void {
  if (headers.length > 0) {
    term.putByte(TAG.list)
    term.putUint32(headers.length)
    for (const [name, value] of headers) {
      term.putByte(TAG.tuple)
      term.putByte(2)
      putString(term, name)
      putString(term, value)
    }
  }
  term.putByte(TAG.nil)
}

/** An Erlang string, which is a list of characters: short ones within a byte have a form of their own. */
function putString(term: TermBuffer, text: string): void {
  const codes = [...text].map(char => char.codePointAt(0) as number)
  if (codes.length === 0) {
    term.putByte(TAG.nil)
    return
  }
  if (codes.length < 65536 && codes.every(code => code < 256)) {
    term.putByte(TAG.string)
    term.putByte(codes.length >>> 8)
    term.putByte(codes.length & 255)
    term.putBytes(Uint8Array.from(codes))
    return
  }
  term.putByte(TAG.list)
  term.putUint32(codes.length)
  for (const code of codes) term.putInteger(code)
  term.putByte(TAG.nil)
}

function putAtom(term: TermBuffer, name: string): void {
  term.putByte(TAG.atom)
  term.putByte(0)
  term.putByte(name.length)
  term.putBytes(Buffer.from(name, 'latin1'))
}

function putList(term: TermBuffer, texts: readonly string[]): void {
  if (texts.length > 0) {
    term.putByte(TAG.list)
    term.putUint32(texts.length)
    for (const text of texts) term.putText(text)
  }
  term.putByte(TAG.nil)
}

/** @param text JSON object without special members */
function putObject(term: TermBuffer, text: string): void {
  const value = parseJson(text)
  term.putBytes(fromParts({ body: value instanceof Map ? value : new Map() }).bodyTerm)
}

const sortedText = (params: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(Object.fromEntries(Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1))))
