import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  commonBytes,
  packNibbles,
  unpackNibbles,
} from '../../../../src/core/indexing/nibble-codec.ts'

const SAMPLES = [
  Buffer.alloc(0),
  Buffer.from('7'),
  Buffer.from('1600000000000'.repeat(50)),
  Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * i) % 256)),
  Buffer.from('every letter of the alphabet, or nearly: quick brown fox jumps over lazy dogs'),
  Buffer.from('0123456789'.repeat(20_000)),
]

test('half bytes give back what was packed, whatever its length', () => {
  for (const plain of SAMPLES) {
    // With its own common bytes, and with those of another.
    for (const common of [plain, SAMPLES[4] as Buffer].map(commonBytes)) {
      const packed = packNibbles(plain, common, 3)
      assert.equal(packed[0], 3)
      assert.deepEqual(unpackNibbles(packed, 1), plain)
    }
  }
})

test('digits take half of their room', () => {
  const plain = Buffer.from('0123456789'.repeat(100))
  assert.ok(packNibbles(plain, commonBytes(plain), 3).length < 530)
})

test('bytes that are missing or too many are noticed', () => {
  const plain = SAMPLES[3] as Buffer
  const packed = packNibbles(plain, commonBytes(plain), 3)
  assert.equal(unpackNibbles(packed.subarray(0, packed.length - 1), 1), undefined)
  assert.equal(unpackNibbles(packed.subarray(0, 100), 1), undefined)
  assert.equal(unpackNibbles(Buffer.concat([packed, Buffer.of(1)]), 1), undefined)
})
