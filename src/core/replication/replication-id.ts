/**
 * The name of a replication: the same two ends, asked for in the same way, have the same one on every server that
 * makes it as CouchDB does, so that checkpoints survive a change of the server that replicates.
 *
 * It is the MD5 of Erlang external term bytes of a list: the server's uuid, the ends, and what narrows the documents.
 * Earlier versions of CouchDB named the server and the ends in other ways; checkpoints may still have those names.
 * Passwords are no part of any.
 */
import { createHash } from 'node:crypto'
import { parseJson } from '../../base/json/exact-json.ts'
import { TAG, TermBuffer } from '../../base/json/term-buffer.ts'
import { putByteString, putCount, putJson } from './json-term.ts'
import { normalSelector } from './normal-selector.ts'

export interface NamedEndpoint {
  /** Without user and password, with a slash at the end. */
  readonly url: string
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
  /** What the oldest names call the server. */
  readonly hostName: string
  readonly port: number
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

export interface ReplicationNames {
  readonly base: string
  /** The base, and with it what `continuous` and `create_target` append. */
  readonly id: string
  /** Bases by the rules of earlier versions, newest first. */
  readonly earlier: readonly string[]
}

type Part = (term: TermBuffer) => void

/** Fails with `mango_invalid` for a selector that is none. */
export function replicationId(named: NamedReplication): ReplicationNames {
  const narrowing = narrowingParts(named)
  const ends = [named.source, named.target]
  const nameOf = (
    server: readonly Part[],
    putEnd: (term: TermBuffer, end: NamedEndpoint) => void,
  ) =>
    digest([
      ...server,
      ...ends.map(
        (end): Part =>
          term =>
            putEnd(term, end),
      ),
      ...narrowing,
    ])
  const uuid: Part = term => term.putText(named.serverUuid)
  const host: Part = term => putString(term, named.hostName)
  const port: Part = term => term.putInteger(named.port)
  const base = nameOf([uuid], putEndpoint)
  const continuous = named.continuous === true ? '+continuous' : ''
  const createTarget = named.createTarget === true ? '+create_target' : ''
  return {
    base,
    id: `${base}${continuous}${createTarget}`,
    earlier: [[uuid], [host, port], [host]].map(server => nameOf(server, putEarlierEndpoint)),
  }
}

function digest(parts: readonly Part[]): string {
  const term = new TermBuffer(1024)
  term.putByte(TAG.version)
  putCount(term, parts.length)
  for (const part of parts) part(term)
  term.putByte(TAG.nil)
  return createHash('md5').update(term.bytes.subarray(0, term.at)).digest('hex')
}

function narrowingParts(named: NamedReplication): Part[] {
  const parts: Part[] = []
  const { docIds, selector, filter } = named
  if (docIds !== undefined) parts.push(term => putJson(term, [...new Set(docIds)].sort(byBytes)))
  else if (selector !== undefined) {
    const normal = normalSelector(selector)
    parts.push(term => putJson(term, normal))
  } else if (filter !== undefined) {
    const params = parseJson(JSON.stringify(filter.queryParams))
    parts.push(term => term.putText(filter.code.trim()))
    parts.push(term => putJson(term, params))
  }
  if (named.winningRevsOnly === true) parts.push(term => term.putText('winning_revs_only'))
  return parts
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

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

/** As versions 1 to 3 had it. */
function putEarlierEndpoint(term: TermBuffer, endpoint: NamedEndpoint): void {
  term.putByte(TAG.tuple)
  term.putByte(3)
  putAtom(term, 'remote')
  putString(term, endpoint.url)
  putHeaders(term, endpoint.headers)
}

function putHeaders(term: TermBuffer, headers: NamedEndpoint['headers']): void {
  const inOrder = [...headers].sort(([a], [b]) => byBytes(a, b))
  putCount(term, inOrder.length)
  for (const [name, value] of inOrder) {
    term.putByte(TAG.tuple)
    term.putByte(2)
    putString(term, name)
    putString(term, value)
  }
  term.putByte(TAG.nil)
}

/** An Erlang string, which is a list of bytes: those that are not too long have a form of their own. */
function putString(term: TermBuffer, text: string): void {
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length > 0 && bytes.length < 65536) {
    putByteString(term, bytes)
    return
  }
  putCount(term, bytes.length)
  for (const byte of bytes) term.putInteger(byte)
  term.putByte(TAG.nil)
}

function putAtom(term: TermBuffer, name: string): void {
  term.putByte(TAG.atom)
  term.putByte(0)
  term.putByte(name.length)
  term.putBytes(Buffer.from(name, 'latin1'))
}
