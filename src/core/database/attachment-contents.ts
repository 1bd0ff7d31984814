/**
 * Attachment bytes. Equal contents are stored once per database, under the SHA-256 of the bytes as stored.
 *
 * An upload streams into chunks before its document is committed, so no attachment is ever whole in memory. Its mark
 * (an upload record) goes in with its first chunk and away with the commit that claims it; what nobody claims is
 * discarded at once, or swept later when its process died. Small contents skip all that and ride in the commit itself.
 *
 *   content record (key 14): varint references, varint number of its chunks' keys, varint bytes
 */
import { createHash, type Hash } from 'node:crypto'
import { ByteReader, ByteWriter } from '../../base/bytes.ts'
import { Failure, isFailure } from '../../base/errors.ts'
import type { ReadTx, Steps, Store, WriteTx } from '../../engine/engine.ts'
import { decodeHead, encodeHead } from './database-head.ts'
import {
  chunkKey,
  chunksOf,
  contentKey,
  HEAD,
  UPLOADS,
  uploadKey,
  seqOfKey as uploadOfKey,
} from './keyspace.ts'

/**
 * Fits 16 pages of 4 KiB with the page header of the embedded engine, and is a multiple of three: a chunk is whole
 * base64 digits.
 */
export const CHUNK_BYTES = 65_520
/** Contents up to this size ride in the commit unless the caller says otherwise. */
export const INLINE_BYTES_MAX = 4 * CHUNK_BYTES
/** Chunks in one transaction of an upload, about 2 MiB. Two such buffers are what an upload takes of memory. */
const CHUNKS_PER_WRITE = 32
const WRITE_BYTES = CHUNKS_PER_WRITE * CHUNK_BYTES
const READ_BYTES = 512 * 1024

/** Bytes that wait for the commit of their document. */
export interface UploadedContent {
  readonly sha256: Buffer
  readonly md5: Buffer
  readonly bytes: number
  /** Where the chunks lie; undefined when the bytes are in `inline`. */
  readonly number: number | undefined
  readonly inline: Buffer | undefined
}

export interface ContentRecord {
  readonly references: number
  readonly number: number
  readonly bytes: number
}

/** A content that is already in memory. */
export function inlineContent(inline: Buffer): UploadedContent {
  const sha256 = createHash('sha256').update(inline).digest()
  const md5 = createHash('md5').update(inline).digest()
  return { sha256, md5, bytes: inline.length, number: undefined, inline }
}

/** Streams a content into the store. Nothing refers to it until a commit claims it. */
export async function uploadContent(
  store: Store,
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
  clock: () => number,
  inlineBytesMax = INLINE_BYTES_MAX,
): Promise<UploadedContent> {
  const upload = new Upload(store, clock, inlineBytesMax)
  try {
    for await (const piece of source) {
      const room = upload.add(piece)
      if (room !== undefined) await room
    }
    return await upload.finish()
  } catch (thrown) {
    await upload.discard()
    throw thrown
  }
}

/** Removes the chunks of an upload whose document was not written. One that a commit claimed stays. */
export async function discardUpload(
  store: Store,
  { number }: Pick<UploadedContent, 'number'>,
): Promise<void> {
  if (number === undefined) return
  try {
    await store.write(function* (tx) {
      if ((yield* tx.get(uploadKey(number))) === undefined) return
      tx.deleteRange(chunksOf(number))
      tx.delete(uploadKey(number))
    })
  } catch (thrown) {
    // went away with its database
    if (!isFailure(thrown, 'store_missing')) throw thrown
  }
}

/** Removes uploads that got nothing since `beforeMs` and that no commit claimed. Tells how many. */
export async function sweepUploads(store: Store, beforeMs: number): Promise<number> {
  let count = 0
  for await (const rows of store.scan(UPLOADS, { batchCountMax: 100 })) {
    for (const { key, value } of rows) {
      if (new ByteReader(value).varint() >= beforeMs) continue
      await discardUpload(store, { number: uploadOfKey(key) })
      count++
    }
  }
  return count
}

/** Small contents stay in memory; of larger ones one buffer fills while the other is written. */
class Upload {
  readonly #store: Store
  readonly #clock: () => number
  readonly #inlineBytesMax: number
  readonly #sha256: Hash = createHash('sha256')
  readonly #md5: Hash = createHash('md5')
  #pieces: Buffer[] = []
  #filling: Buffer | undefined
  #spare: Buffer | undefined
  #filledBytes = 0
  #writing: Promise<void> | undefined
  #number: number | undefined
  #chunkCount = 0
  #bytes = 0

  constructor(store: Store, clock: () => number, inlineBytesMax: number) {
    this.#store = store
    this.#clock = clock
    this.#inlineBytesMax = inlineBytesMax
  }

  /** Undefined when the next piece may come at once, else a promise to wait for. */
  add(piece: Buffer): Promise<void> | undefined {
    this.#sha256.update(piece)
    this.#md5.update(piece)
    this.#bytes += piece.length
    if (this.#filling !== undefined) return this.#fill(piece)
    this.#pieces.push(piece)
    return this.#bytes > this.#inlineBytesMax ? this.#beginWriting() : undefined
  }

  async finish(): Promise<UploadedContent> {
    const digests = { sha256: this.#sha256.digest(), md5: this.#md5.digest(), bytes: this.#bytes }
    if (this.#filling === undefined) {
      return { ...digests, number: undefined, inline: Buffer.concat(this.#pieces) }
    }
    if (this.#filledBytes > 0) await this.#write()
    await this.#writing
    return { ...digests, number: this.#number, inline: undefined }
  }

  async discard(): Promise<void> {
    // how a write that is under way ends does not matter any more
    await this.#writing?.catch(() => {})
    await discardUpload(this.#store, { number: this.#number })
  }

  async #beginWriting(): Promise<void> {
    this.#filling = Buffer.allocUnsafeSlow(WRITE_BYTES)
    this.#spare = Buffer.allocUnsafeSlow(WRITE_BYTES)
    const pieces = this.#pieces
    this.#pieces = []
    for (const piece of pieces) await this.#fill(piece)
  }

  #fill(piece: Buffer): Promise<void> | undefined {
    const room = WRITE_BYTES - this.#filledBytes
    const taken = Math.min(room, piece.length)
    piece.copy(this.#filling as Buffer, this.#filledBytes, 0, taken)
    this.#filledBytes += taken
    return this.#filledBytes < WRITE_BYTES ? undefined : this.#writeThenFill(piece.subarray(taken))
  }

  async #writeThenFill(rest: Buffer): Promise<void> {
    await this.#write()
    if (rest.length > 0) await this.#fill(rest)
  }

  /** Waits for the write before, begins the next, and goes on with the other buffer. */
  async #write(): Promise<void> {
    await this.#writing
    const full = this.#filling as Buffer
    const writing = this.#put(full.subarray(0, this.#filledBytes))
    // whoever waits for it next gets the failure; until then nobody does
    writing.catch(() => {})
    this.#writing = writing
    this.#filling = this.#spare
    this.#spare = full
    this.#filledBytes = 0
  }

  async #put(bytes: Buffer): Promise<void> {
    const firstChunk = this.#chunkCount
    this.#chunkCount += Math.ceil(bytes.length / CHUNK_BYTES)
    const known = this.#number
    const mark = new ByteWriter(8).varint(this.#clock()).finish()
    this.#number = await this.#store.write(function* (tx) {
      const number = known ?? (yield* allocate(tx))
      tx.put(uploadKey(number), mark)
      putChunks(tx, number, bytes, firstChunk)
      return number
    })
  }
}

function* allocate(tx: WriteTx): Steps<number> {
  const bytes = yield* tx.get(HEAD)
  if (bytes === undefined) throw new Failure('database_missing')
  const head = decodeHead(bytes)
  tx.put(HEAD, encodeHead({ ...head, nextBodyKey: head.nextBodyKey + 1 }))
  return head.nextBodyKey
}

function putChunks(tx: WriteTx, number: number, bytes: Buffer, firstChunk = 0): void {
  let chunk = firstChunk
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    tx.put(chunkKey(number, chunk++), bytes.subarray(at, at + CHUNK_BYTES))
  }
}

/** What one commit does to contents: claims of uploads, references gained and lost; written once at its end. */
export class ContentChanges {
  readonly #amounts = new Map<string, number>()
  readonly #uploads = new Map<string, UploadedContent[]>()
  readonly #claimed = new Set<UploadedContent>()
  readonly #released: number[] = []

  /** One more revision refers to the content. */
  claim(upload: UploadedContent): void {
    this.#claimed.add(upload)
    const id = upload.sha256.toString('latin1')
    this.#uploads.set(id, [...(this.#uploads.get(id) ?? []), upload])
    this.refer(upload.sha256, 1)
  }

  /** The edit that brought it is done: unless that claimed it, its chunks go. */
  release(upload: UploadedContent): void {
    if (upload.number === undefined || this.#claimed.has(upload)) return
    this.#released.push(upload.number)
  }

  /** Whether a content can be referred to: it is stored, or will be with this commit. */
  *isThere(tx: ReadTx, sha256: Buffer): Steps<boolean> {
    const amount = this.#amounts.get(sha256.toString('latin1'))
    return amount !== undefined || (yield* tx.get(contentKey(sha256))) !== undefined
  }

  /** References gained, or lost by a revision whose body goes: contents without any are removed. */
  refer(sha256: Buffer, amount: number): void {
    const id = sha256.toString('latin1')
    this.#amounts.set(id, (this.#amounts.get(id) ?? 0) + amount)
  }

  /** @param allocateNumber gives the next free number of the head */
  *apply(tx: WriteTx, allocateNumber: () => number): Steps<void> {
    for (const number of this.#released) {
      tx.delete(uploadKey(number))
      tx.deleteRange(chunksOf(number))
    }
    const ids = [...this.#amounts.keys()]
    if (ids.length === 0) return
    const keys = ids.map(id => contentKey(Buffer.from(id, 'latin1')))
    const records = yield* tx.getMany(keys)
    for (const [index, id] of ids.entries()) {
      const bytes = records[index]
      const stored = bytes === undefined ? undefined : decodeContent(bytes)
      const uploads = this.#uploads.get(id) ?? []
      const record = stored ?? place(tx, uploads, allocateNumber)
      dropRivals(tx, uploads, record.number)
      const references = record.references + (this.#amounts.get(id) ?? 0)
      if (references > 0) tx.put(keys[index] as Buffer, encodeContent({ ...record, references }))
      else {
        tx.delete(keys[index] as Buffer)
        tx.deleteRange(chunksOf(record.number))
      }
    }
  }
}

/** The first upload of a content that is new becomes its home. */
function place(
  tx: WriteTx,
  uploads: readonly UploadedContent[],
  allocateNumber: () => number,
): ContentRecord {
  const upload = uploads.find(candidate => candidate.number !== undefined) ?? uploads[0]
  if (upload === undefined) {
    throw new Failure('storage_corrupt', { reason: 'an attachment refers to content that is gone' })
  }
  const number = upload.number ?? allocateNumber()
  if (upload.inline !== undefined) putChunks(tx, number, upload.inline)
  return { references: 0, number, bytes: upload.bytes }
}

/** Uploads of a content that was there already, or came twice: their chunks are not needed. */
function dropRivals(tx: WriteTx, uploads: readonly UploadedContent[], home: number): void {
  for (const { number } of uploads) {
    if (number === undefined) continue
    tx.delete(uploadKey(number))
    if (number !== home) tx.deleteRange(chunksOf(number))
  }
}

export function* findContent(tx: ReadTx, sha256: Buffer): Steps<ContentRecord | undefined> {
  const bytes = yield* tx.get(contentKey(sha256))
  return bytes === undefined ? undefined : decodeContent(bytes)
}

/** All stored bytes at once, from the state that `tx` sees. For few: they are all in memory. */
export function* readWhole(tx: ReadTx, content: ContentRecord): Steps<Buffer> {
  const keys: Buffer[] = []
  for (let at = 0; at < content.bytes; at += CHUNK_BYTES) {
    keys.push(chunkKey(content.number, keys.length))
  }
  const chunks: Buffer[] = []
  let bytes = 0
  for (const chunk of yield* tx.getMany(keys)) {
    if (chunk !== undefined) chunks.push(chunk)
    bytes += chunk?.length ?? 0
  }
  if (bytes !== content.bytes) throw chunksMissing()
  const [first] = chunks
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks, bytes)
}

const chunksMissing = (): Failure =>
  new Failure('storage_corrupt', { reason: 'attachment chunks are missing' })

/** The stored bytes from `start` up to `end`, at the reader's pace. */
export async function* readContent(
  store: Store,
  content: ContentRecord,
  start = 0,
  end = content.bytes,
): AsyncGenerator<Buffer, void, undefined> {
  const first = Math.floor(start / CHUNK_BYTES)
  const range = { start: chunkKey(content.number, first), end: chunksOf(content.number).end }
  let at = first * CHUNK_BYTES
  for await (const rows of store.scan(range, { batchBytesMax: READ_BYTES })) {
    for (const { value } of rows) {
      if (at >= end) return
      const from = Math.max(0, start - at)
      const to = Math.min(value.length, end - at)
      at += value.length
      if (to > from) yield value.subarray(from, to)
    }
  }
  if (at < end) throw chunksMissing()
}

const encodeContent = (record: ContentRecord): Buffer =>
  new ByteWriter(24).varint(record.references).varint(record.number).varint(record.bytes).finish()

export function decodeContent(bytes: Buffer): ContentRecord {
  const reader = new ByteReader(bytes)
  return { references: reader.varint(), number: reader.varint(), bytes: reader.varint() }
}
