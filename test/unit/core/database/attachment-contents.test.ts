import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import {
  CHUNK_BYTES,
  ContentChanges,
  discardUpload,
  findContent,
  INLINE_BYTES_MAX,
  inlineContent,
  readContent,
  readWhole,
  sweepUploads,
  type UploadedContent,
  uploadContent,
} from '../../../../src/core/database/attachment-contents.ts'
import { encodeHead } from '../../../../src/core/database/database-head.ts'
import { HEAD } from '../../../../src/core/database/keyspace.ts'
import type { Store } from '../../../../src/engine/engine.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'
import { attachmentRows } from '../../../support/attachment-rows.ts'

const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000)

/** Numbers below `bound`, the same for the same seed. */
function randomNumbers(): (bound: number) => number {
  let state = seed
  return bound => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state % bound
  }
}

async function emptyStore(): Promise<Store> {
  const store = await new MemoryEngine().createStore('s')
  await store.write(function* (tx) {
    tx.put(
      HEAD,
      encodeHead({
        updateSeq: 0,
        purgeSeq: 0,
        oldestPurgeSeq: 0,
        nextBodyKey: 1,
        liveCount: 0,
        deletedCount: 0,
        externalBytes: 0,
      }),
    )
  })
  return store
}

const commit = (store: Store, change: (changes: ContentChanges) => void): Promise<void> => {
  const changes = new ContentChanges()
  change(changes)
  let next = 1_000_000
  return store.write(tx => changes.apply(tx, () => next++))
}

async function readAll(store: Store, { sha256 }: UploadedContent, start?: number, end?: number) {
  const content = await store.read(tx => findContent(tx, sha256))
  assert.ok(content)
  const pieces: Buffer[] = []
  for await (const piece of readContent(store, content, start, end)) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Bytes that show where they stand, cut at random. */
function* cut(bytes: Buffer, random: (bound: number) => number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const size = random(4) === 0 ? random(3_000_000) : random(70_000)
    // the caller may reuse what it handed in
    yield Buffer.from(bytes.subarray(at, at + size))
    at += size
  }
}

function pattern(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(at, at)
  return bytes
}

describe(`attachment contents (seed ${seed})`, () => {
  it('are what was uploaded, however it was cut', async () => {
    const random = randomNumbers()
    const store = await emptyStore()
    const sizes = [0, 1, CHUNK_BYTES, INLINE_BYTES_MAX, INLINE_BYTES_MAX + 1, 32 * CHUNK_BYTES]
    for (let round = 0; round < 6; round++) sizes.push(random(9_000_000))
    for (const size of sizes) {
      const bytes = pattern(size)
      const upload = await uploadContent(store, cut(bytes, random), () => 0)
      assert.equal(upload.bytes, size)
      assert.ok(upload.md5.equals(createHash('md5').update(bytes).digest()))
      assert.ok(upload.sha256.equals(createHash('sha256').update(bytes).digest()))
      assert.equal(upload.number === undefined, size <= INLINE_BYTES_MAX)
      await commit(store, changes => changes.claim(upload))
      assert.ok((await readAll(store, upload)).equals(bytes))
      const start = random(size + 1)
      const end = start + random(size - start + 1)
      assert.ok((await readAll(store, upload, start, end)).equals(bytes.subarray(start, end)))
    }
    assert.equal((await attachmentRows(store)).uploads, 0)
  })

  it('are kept once and go with their last reference', async () => {
    const store = await emptyStore()
    const bytes = pattern(INLINE_BYTES_MAX * 2)
    const uploads: UploadedContent[] = []
    for (let round = 0; round < 3; round++) {
      uploads.push(await uploadContent(store, [bytes], () => 0))
    }
    const [first, second, third] = uploads as [UploadedContent, UploadedContent, UploadedContent]
    // two in one commit, one in a later
    await commit(store, changes => {
      changes.claim(first)
      changes.claim(second)
    })
    await commit(store, changes => changes.claim(third))
    assert.deepEqual(await attachmentRows(store), { contents: 1, chunks: 8, uploads: 0 })
    await commit(store, changes => changes.refer(first.sha256, -2))
    assert.ok((await readAll(store, third)).equals(bytes))
    await commit(store, changes => changes.refer(first.sha256, -1))
    assert.deepEqual(await attachmentRows(store), { contents: 0, chunks: 0, uploads: 0 })
  })

  it('come and go in one commit', async () => {
    const store = await emptyStore()
    const content = inlineContent(Buffer.from('short'))
    await commit(store, changes => {
      changes.claim(content)
      changes.refer(content.sha256, -1)
    })
    assert.deepEqual(await attachmentRows(store), { contents: 0, chunks: 0, uploads: 0 })
  })

  it('that nobody claims are released, discarded or swept', async () => {
    const store = await emptyStore()
    const upload = (atMs: number) =>
      uploadContent(store, [pattern(INLINE_BYTES_MAX + 1)], () => atMs)
    const claimed = await upload(0)
    const refused = await upload(0)
    await commit(store, changes => {
      changes.claim(claimed)
      changes.release(claimed)
      changes.release(refused)
    })
    assert.deepEqual(await attachmentRows(store), { contents: 1, chunks: 5, uploads: 0 })
    // one that was claimed stays, whoever asks
    await discardUpload(store, claimed)
    assert.equal((await attachmentRows(store)).chunks, 5)
    await discardUpload(store, await upload(0))
    assert.equal((await attachmentRows(store)).chunks, 5)
    await upload(1000)
    await upload(3000)
    assert.equal(await sweepUploads(store, 2000), 1)
    assert.deepEqual(await attachmentRows(store), { contents: 1, chunks: 10, uploads: 1 })
  })

  it('leave nothing behind when their source fails', async () => {
    const store = await emptyStore()
    const source = (async function* () {
      for (let count = 0; count < 3; count++) yield pattern(2_500_000)
      throw new Error('gone')
    })()
    await assert.rejects(
      uploadContent(store, source, () => 0),
      /gone/,
    )
    assert.deepEqual(await attachmentRows(store), { contents: 0, chunks: 0, uploads: 0 })
  })

  it('that are missing chunks are not served as if they were whole', async () => {
    const store = await emptyStore()
    const content = { references: 1, number: 77, bytes: 10 }
    await assert.rejects(
      async () => {
        for await (const _ of readContent(store, content));
      },
      thrown => isFailure(thrown, 'storage_corrupt'),
    )
    await assert.rejects(
      async () => store.read(tx => readWhole(tx, content)),
      thrown => isFailure(thrown, 'storage_corrupt'),
    )
  })
})
