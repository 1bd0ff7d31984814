/**
 * Reads multipart bodies as they come.
 *
 * Promises: parts one after the other, each body as an async iterable of Buffers at the reader's pace; held
 * in memory are one chunk of the source and the head of one part, which is bounded. A boundary may lie
 * across chunks. What a reader leaves of a part is skipped when the next one is asked for.
 * Fails with Failure('request_invalid'): a bad part header, no boundary, a body that ends too early.
 */
import { assert } from '../../base/assert.ts'
import { Failure } from '../../base/errors.ts'

export interface MultipartOptions {
  /** The headers of one part together. */
  readonly headBytesMax?: number
}

export interface Part {
  /** By lower-case name; of repeated ones the last. */
  readonly headers: ReadonlyMap<string, string>
  /** To be read before the next part is asked for. */
  readonly body: AsyncIterable<Buffer>
}

const HEAD_END = Buffer.from('\r\n\r\n')
const CRLF = Buffer.from('\r\n')
const NOTHING = Buffer.alloc(0)
/** Blanks that senders may put behind a boundary. More is not a boundary line. */
const PADDING_BYTES_MAX = 1024

/** The boundary of a content type; Failure when there is none. */
export function boundaryOf(contentType: string): string {
  const found = /;\s*boundary\s*=\s*(?:"([^"]+)"|([^\s;"]+))/i.exec(contentType)
  const boundary = found?.[1] ?? found?.[2]
  if (boundary === undefined) throw invalid('multipart boundary missing')
  return boundary
}

export class MultipartParser {
  readonly #source: AsyncIterator<Buffer>
  readonly #delimiter: Buffer
  readonly #headBytesMax: number
  /** What was read and not yet handed out. A first boundary needs no line break in front: it gets one. */
  #held: Buffer = CRLF
  #state: 'preamble' | 'head' | 'body' | 'end' = 'preamble'
  #partCount = 0

  constructor(source: AsyncIterable<Buffer>, boundary: string, options: MultipartOptions = {}) {
    this.#source = source[Symbol.asyncIterator]()
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
    this.#headBytesMax = options.headBytesMax ?? 16_384
  }

  /** The next part, undefined after the last. */
  async next(): Promise<Part | undefined> {
    if (this.#state === 'preamble' || this.#state === 'body') await this.#skipBody()
    if (this.#state === 'end') return undefined
    const headers = parseHead(await this.#readHead())
    this.#state = 'body'
    this.#partCount++
    return { headers, body: this.#body(this.#partCount) }
  }

  /** Reads to the end of the source, so that what comes after the last part does not lie in the way. */
  async finish(): Promise<void> {
    while ((await this.next()) !== undefined);
    this.#held = NOTHING
    while ((await this.#source.next()).done !== true);
  }

  /** Lets go of the source, for readers that stop half way. */
  async close(): Promise<void> {
    this.#state = 'end'
    this.#held = NOTHING
    await this.#source.return?.()
  }

  async #skipBody(): Promise<void> {
    for (let chunk = await this.#piece(); chunk !== undefined; ) chunk = await this.#piece()
  }

  async *#body(part: number): AsyncGenerator<Buffer, void, undefined> {
    assert(part === this.#partCount, 'a part is read before the next one is asked for')
    while (this.#state === 'body' && part === this.#partCount) {
      const chunk = await this.#piece()
      if (chunk === undefined) return
      if (chunk.length > 0) yield chunk
    }
  }

  /** Bytes of the current part, undefined when its boundary was met (the state has moved on then). */
  async #piece(): Promise<Buffer | undefined> {
    const at = this.#held.indexOf(this.#delimiter)
    if (at > 0) return this.#cut(at)
    if (at === 0) {
      this.#held = this.#held.subarray(this.#delimiter.length)
      await this.#afterDelimiter()
      return undefined
    }
    // The end of what is held may be the beginning of a boundary: it stays.
    const sure = this.#held.length - this.#delimiter.length + 1
    if (sure > 0) return this.#cut(sure)
    await this.#more()
    return NOTHING
  }

  #cut(size: number): Buffer {
    const chunk = this.#held.subarray(0, size)
    this.#held = this.#held.subarray(size)
    return chunk
  }

  /** Behind a boundary: `--` ends all, else blanks and a line break begin a part. */
  async #afterDelimiter(): Promise<void> {
    while (this.#held.length < 2) await this.#more()
    if (this.#held[0] === 0x2d && this.#held[1] === 0x2d) {
      this.#state = 'end'
      return
    }
    const line = await this.#readUntil(CRLF, PADDING_BYTES_MAX)
    if (/[^ \t]/.test(line.toString('latin1'))) throw invalid('bad multipart boundary')
    this.#state = 'head'
  }

  /** The head with its closing empty line cut off; a part may have no headers at all. */
  async #readHead(): Promise<string> {
    while (this.#held.length < 2) await this.#more()
    if (this.#held[0] === 0x0d && this.#held[1] === 0x0a) {
      this.#cut(2)
      return ''
    }
    return (await this.#readUntil(HEAD_END, this.#headBytesMax)).toString('utf8')
  }

  async #readUntil(mark: Buffer, bytesMax: number): Promise<Buffer> {
    for (;;) {
      const at = this.#held.indexOf(mark)
      if (at > bytesMax || (at < 0 && this.#held.length > bytesMax))
        throw invalid('bad part header')
      if (at >= 0) {
        const found = this.#cut(at)
        this.#cut(mark.length)
        return found
      }
      await this.#more()
    }
  }

  async #more(): Promise<void> {
    const step = await this.#source.next()
    if (step.done === true) throw invalid('multipart body ended too early')
    this.#held = this.#held.length === 0 ? step.value : Buffer.concat([this.#held, step.value])
  }
}

function parseHead(head: string): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  if (head === '') return headers
  for (const line of head.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon <= 0) throw invalid('bad part header')
    headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim())
  }
  return headers
}

const invalid = (reason: string): Failure => new Failure('request_invalid', { reason })
