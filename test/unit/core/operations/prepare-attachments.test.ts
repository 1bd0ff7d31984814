import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isFailure } from '../../../../src/base/errors.ts'
import { Configuration } from '../../../../src/core/configuration/configuration.ts'
import { Catalog } from '../../../../src/core/database/catalog.ts'
import { gzip } from '../../../../src/core/document/attachment-compression.ts'
import type { IncomingAttachment } from '../../../../src/core/document/incoming-attachment.ts'
import { Notices } from '../../../../src/core/notices/notices.ts'
import {
  attachmentPolicyOf,
  type PreparingParts,
  prepareAttachments,
  Turns,
  uploadAttachment,
} from '../../../../src/core/operations/prepare-attachments.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'
import { attachmentRows } from '../../../support/attachment-rows.ts'

const TEXT = Buffer.from('the quick brown fox jumps over the lazy dog '.repeat(20_000))

async function parts(settings: Record<string, string> = {}): Promise<PreparingParts> {
  const engine = new MemoryEngine()
  await Catalog.prepare(engine)
  const catalog = new Catalog(engine, new Notices())
  await catalog.create('db', { createdMs: 0, partitioned: false, q: 2, n: 1, security: '{}' })
  const configuration = new Configuration(
    new Map([
      ['attachments', new Map(Object.entries(settings))],
      ['couchdb', new Map([['max_attachment_size', '5000000']])],
    ]),
  )
  const database = await catalog.open('db')
  return { database, policy: attachmentPolicyOf(configuration)(), clock: () => 0 }
}

const inline = (name: string, data: Buffer, contentType?: string): IncomingAttachment => ({
  kind: 'inline',
  name,
  data,
  ...(contentType === undefined ? {} : { contentType }),
})

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

describe('preparing attachments', () => {
  it('compresses the types configured, with the same bytes however they come', async () => {
    const preparing = await parts()
    const whole = gzip(TEXT)
    const [first] = await prepareAttachments(preparing, [inline('a', TEXT, 'Text/Plain; x=1')])
    assert.ok(first?.kind === 'new')
    assert.equal(first.encoding, 'gzip')
    assert.equal(first.length, TEXT.length)
    assert.ok(first.content.inline?.equals(whole))
    for (const size of [1000, 32_768, 100_000]) {
      const upload = {
        name: 'a',
        contentType: 'text/plain',
        encoding: 'identity' as const,
        bytes: pieces(TEXT, size),
      }
      const uploaded = await uploadAttachment(preparing, upload)
      assert.ok(uploaded.content.sha256.equals(first.content.sha256))
      assert.equal(uploaded.length, TEXT.length)
    }
    const [png] = await prepareAttachments(preparing, [inline('b', TEXT, 'image/png')])
    assert.ok(png?.kind === 'new' && png.encoding === 'identity')
  })

  it('compresses nothing when the level is 0 or no type is configured', async () => {
    for (const settings of [{ compression_level: '0' }, { compressible_types: '' }]) {
      const [first] = await prepareAttachments(await parts(settings), [
        inline('a', TEXT, 'text/plain'),
      ])
      assert.ok(first?.kind === 'new')
      assert.equal(first.encoding, 'identity')
    }
  })

  it('discards what it took in when a later one fails', async () => {
    const preparing = await parts()
    const large = Buffer.alloc(600_000, 1)
    const incoming = [inline('a', large), inline('b', Buffer.alloc(5_000_001))]
    await assert.rejects(prepareAttachments(preparing, incoming), thrown =>
      isFailure(thrown, 'attachment_too_large'),
    )
    const none = { contents: 0, chunks: 0, uploads: 0 }
    assert.deepEqual(await attachmentRows(preparing.database.store), none)
  })

  it('lets only so much of a document ride in its commit', async () => {
    const preparing = await parts()
    const incoming = Array.from({ length: 12 }, (_, number) =>
      inline(`a${number}`, Buffer.alloc(200_000, number)),
    )
    const prepared = await prepareAttachments(preparing, incoming)
    let inlineBytes = 0
    for (const each of prepared) {
      assert.ok(each.kind === 'new')
      assert.equal(each.content.inline === undefined, each.content.number !== undefined)
      inlineBytes += each.content.inline?.length ?? 0
    }
    assert.ok(inlineBytes > 0 && inlineBytes < 1_200_000, `${inlineBytes}`)
    assert.ok((await attachmentRows(preparing.database.store)).uploads >= 6)
  })

  it('asks for parts in the order of the document', async () => {
    const preparing = await parts()
    const contents = [Buffer.from('one'), Buffer.from('two')]
    const asked: Buffer[] = []
    const following = {
      next: async () => {
        const content = contents.shift()
        if (content !== undefined) asked.push(content)
        return content && pieces(content, 2)
      },
    }
    const follows = (name: string) =>
      ({ kind: 'follows', name, encoding: 'identity', length: 3 }) as const
    const incoming = [follows('x'), { kind: 'stub', name: 's' } as const, follows('y')]
    const prepared = await prepareAttachments(preparing, incoming, following)
    assert.deepEqual(
      prepared.map(each => (each.kind === 'new' ? String(each.content.inline) : each.kind)),
      ['one', 'stub', 'two'],
    )
    assert.equal(asked.length, 2)
  })

  it('compresses one piece in a turn of the event loop', async () => {
    const turns = new Turns()
    let taken = 0
    const takers = Array.from({ length: 10 }, () => turns.next().then(() => taken++))
    let mostInOneTurn = 0
    while (taken < takers.length) {
      const before = taken
      await nextTurn()
      mostInOneTurn = Math.max(mostInOneTurn, taken - before)
    }
    assert.equal(mostInOneTurn, 1)
  })
})
