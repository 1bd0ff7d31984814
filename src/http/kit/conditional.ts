/**
 * ETags and If-None-Match.
 *
 * Promises: CouchDB's reading of the header: split at commas and blanks, `W/` ignored, no `*`. A 304 has the
 * ETag and the standard headers only. Leaves to others: what an ETag is made of.
 */
import { hash } from 'node:crypto'
import { emptyReply, type Reply } from './reply.ts'

export const quoteEtag = (text: string): string => `"${text}"`

/** A quoted base-36 upper-case hash of the bytes. Several parts are hashed one after the other. */
export function etagOf(...parts: readonly (Buffer | string)[]): string {
  const isText = parts.every(part => typeof part === 'string')
  // In one go: a hash that is fed piece by piece costs three times as much.
  const whole = isText ? parts.join('') : Buffer.concat(parts.map(bytesOf))
  return quoteEtag(
    BigInt(`0x${hash('md5', whole, 'hex')}`)
      .toString(36)
      .toUpperCase(),
  )
}

const bytesOf = (part: Buffer | string): Buffer =>
  typeof part === 'string' ? Buffer.from(part) : part

/** @param etag with its quotes */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch
    .split(/[,\s]+/)
    .some(item => (item.startsWith('W/') ? item.slice(2) : item) === etag)
}

export const notModified = (etag: string): Reply => emptyReply(304, ['ETag', etag])

/** The 304 when the client has this version already, else undefined. */
export const notModifiedReply = (
  request: { header(name: string): string | undefined },
  etag: string,
): Reply | undefined =>
  matchesEtag(request.header('if-none-match'), etag) ? notModified(etag) : undefined
