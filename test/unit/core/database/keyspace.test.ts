/**
 * Two values once shared the key 06: compacting a database made it forget its validation functions, and forbidden writes
 * got in. No two kinds of keys may begin alike.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import * as keyspace from '../../../../src/core/database/keyspace.ts'

it('no two kinds of keys begin with the same byte', () => {
  const single = Object.entries(keyspace).filter(([, value]) => Buffer.isBuffer(value))
  const ranges = Object.entries(keyspace).flatMap(([name, value]) =>
    typeof value === 'object' && 'start' in value ? [[name, value.start as Buffer] as const] : [],
  )
  const made: [string, Buffer][] = [
    ['documentKey', keyspace.documentKey('a')],
    ['localKey', keyspace.localKey('a')],
    ['changeKey', keyspace.changeKey(1)],
    ['bodyKey', keyspace.bodyKey(1)],
    ['purgeKey', keyspace.purgeKey(1)],
    ['contentKey', keyspace.contentKey(Buffer.alloc(32))],
    ['chunkKey', keyspace.chunkKey(1, 1)],
    ['uploadKey', keyspace.uploadKey(1)],
    ['idCountKey', keyspace.idCountKey(Buffer.of(1))],
    ['sequenceCountKey', keyspace.sequenceCountKey(0, 1)],
  ]
  const firstBytes = new Map<number, string>()
  for (const [name, key] of [...(single as [string, Buffer][]), ...made]) {
    const byte = key[0] as number
    assert.equal(firstBytes.get(byte), undefined, `${name} and ${firstBytes.get(byte)}`)
    firstBytes.set(byte, name)
  }
  for (const [name, start] of ranges) assert.ok(firstBytes.has(start[0] as number), name)
})
