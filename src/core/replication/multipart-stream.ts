/**
 * Multipart bodies as they stream by: reading parts one after the other (a part may be multipart again), and writing
 * a document with the contents of its attachments behind it. At no time is more than a chunk of a content in memory.
 */
import { randomBytes } from 'node:crypto'
import { membersOf } from './cut-json.ts'
import type { RevisionStream } from './peer.ts'
import { passing } from './retry.ts'

const HEAD_BYTES_MAX = 16 * 1024

export interface BodyPart {
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  /** To be read to its end before the next part is asked for; what is left is skipped then. */
  readonly body: AsyncIterable<Buffer>
}

export const boundaryOf = (contentType: string | undefined): string | undefined => {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType ?? '') ?? []
  return quoted ?? plain
}

export class MultipartReader {
  readonly #chunks: AsyncIterator<Buffer>
  readonly #delimiter: Buffer
  // The first delimiter has no line end in front of it.
  #bytes: Buffer = Buffer.from('\r\n')
  #inBody = true

  constructor(chunks: AsyncIterable<Buffer>, boundary: string) {
    this.#chunks = chunks[Symbol.asyncIterator]()
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
  }

  /** Undefined after the last. */
  async next(): Promise<BodyPart | undefined> {
    while ((await this.#nextChunk()) !== undefined) {
      // what nobody read
    }
    await this.#need(2)
    if (this.#bytes[0] === 0x2d && this.#bytes[1] === 0x2d) return undefined
    const headers = parseHead(await this.#readHead())
    this.#inBody = true
    return { headers, body: this.#body() }
  }

  /** Lets go of the connection. */
  async close(): Promise<void> {
    await this.#chunks.return?.()
  }

  async *#body(): AsyncGenerator<Buffer> {
    for (;;) {
      const chunk = await this.#nextChunk()
      if (chunk === undefined) return
      if (chunk.length > 0) yield chunk
    }
  }

  /** The next bytes of the part at hand; undefined at its end. */
  async #nextChunk(): Promise<Buffer | undefined> {
    if (!this.#inBody) return undefined
    for (;;) {
      const at = this.#bytes.indexOf(this.#delimiter)
      if (at >= 0) {
        const rest = this.#bytes.subarray(0, at)
        this.#bytes = this.#bytes.subarray(at + this.#delimiter.length)
        this.#inBody = false
        return rest.length > 0 ? rest : undefined
      }
      const sure = this.#bytes.length - this.#delimiter.length
      if (sure > 0) {
        const chunk = this.#bytes.subarray(0, sure)
        this.#bytes = this.#bytes.subarray(sure)
        return chunk
      }
      await this.#fill()
    }
  }

  async #readHead(): Promise<string> {
    for (;;) {
      const end = this.#bytes.indexOf('\r\n\r\n')
      if (end >= 0) {
        const head = this.#bytes.toString('latin1', 0, end)
        this.#bytes = this.#bytes.subarray(end + 4)
        return head
      }
      if (this.#bytes.length > HEAD_BYTES_MAX) throw passing('the other server sent bad multipart')
      await this.#fill()
    }
  }

  async #need(count: number): Promise<void> {
    while (this.#bytes.length < count) await this.#fill()
  }

  async #fill(): Promise<void> {
    const step = await this.#chunks.next()
    if (step.done) throw passing('the answer was cut off')
    this.#bytes = this.#bytes.length === 0 ? step.value : Buffer.concat([this.#bytes, step.value])
  }
}

function parseHead(head: string): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  for (const line of head.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0)
      headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim())
  }
  return headers
}

export interface FollowingContent {
  readonly name: string
  readonly bytes: number
}

/** The attachments that follow a document's text, in order, with the number of bytes each takes on the wire. */
export function followingOf(text: Buffer): FollowingContent[] {
  for (const { key, start } of membersOf(text, 0)) {
    if (key === '_attachments') return followingIn(text, start)
  }
  return []
}

function followingIn(text: Buffer, start: number): FollowingContent[] {
  const following: FollowingContent[] = []
  for (const entry of membersOf(text, start)) {
    const info = JSON.parse(text.toString('utf8', entry.start, entry.end)) as {
      follows?: unknown
      encoding?: unknown
      length?: unknown
      encoded_length?: unknown
    }
    if (info.follows !== true) continue
    const bytes = info.encoding === undefined ? info.length : info.encoded_length
    if (typeof bytes !== 'number') throw passing('the other server does not say how long it is')
    following.push({ name: JSON.parse(`"${entry.key}"`) as string, bytes })
  }
  return following
}

export interface MultipartBody {
  readonly contentType: string
  readonly length: number
  readonly chunks: AsyncIterable<Buffer>
}

/** A document and its contents as multipart/related. */
export function relatedBody(
  revision: RevisionStream,
  following: readonly FollowingContent[],
): MultipartBody {
  const boundary = randomBytes(16).toString('hex')
  const first = Buffer.from(`--${boundary}\r\nContent-Type: application/json\r\n\r\n`)
  const heads = following.map(({ name, bytes }) => {
    const shown = encodeURIComponent(name)
    const lines = `Content-Disposition: attachment; filename="${shown}"\r\nContent-Length: ${bytes}`
    return Buffer.from(`\r\n--${boundary}\r\n${lines}\r\n\r\n`)
  })
  const last = Buffer.from(`\r\n--${boundary}--`)
  const contents = following.reduce((sum, { bytes }) => sum + bytes, 0)
  const headBytes = heads.reduce((sum, head) => sum + head.length, 0)
  return {
    contentType: `multipart/related; boundary="${boundary}"`,
    length: first.length + revision.text.length + headBytes + contents + last.length,
    chunks: relatedChunks(revision, following, { first, heads, last }),
  }
}

async function* relatedChunks(
  revision: RevisionStream,
  following: readonly FollowingContent[],
  { first, heads, last }: { first: Buffer; heads: readonly Buffer[]; last: Buffer },
): AsyncGenerator<Buffer> {
  yield Buffer.concat([first, revision.text])
  let index = 0
  for await (const part of revision.parts) {
    const expected = following[index]
    if (expected === undefined) throw passing('more contents came than were announced')
    yield heads[index++] as Buffer
    let bytes = 0
    for await (const chunk of part) {
      bytes += chunk.length
      if (bytes > expected.bytes) throw passing('a content is longer than announced')
      yield chunk
    }
    if (bytes !== expected.bytes) throw passing('a content is shorter than announced')
  }
  if (index !== following.length) throw passing('fewer contents came than were announced')
  yield last
}
