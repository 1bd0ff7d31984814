import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type PlacedRecords,
  sortByPlace,
} from '../../../../../src/core/indexing/first-build/place-sort.ts'

/** Records of one length byte pair and the place. */
class Records implements PlacedRecords {
  readonly bytes: Buffer
  readonly offsets: Uint32Array

  constructor(places: readonly Buffer[]) {
    const offsets: number[] = []
    const parts: Buffer[] = []
    let at = 0
    for (const place of places) {
      const head = Buffer.alloc(4)
      head.writeUInt32LE(place.length)
      offsets.push(at)
      parts.push(head, place)
      at += 4 + place.length
    }
    this.bytes = Buffer.concat(parts)
    this.offsets = Uint32Array.from(offsets)
  }

  placeStart(offset: number): number {
    return offset + 4
  }

  placeLength(offset: number): number {
    return this.bytes.readUInt32LE(offset)
  }
}

function check(places: readonly Buffer[]): void {
  const records = new Records(places)
  const want = [...records.offsets].sort((one, two) => {
    const place = (offset: number) =>
      records.bytes.subarray(offset + 4, offset + 4 + records.placeLength(offset))
    return Buffer.compare(place(one), place(two)) || one - two
  })
  const got = records.offsets.slice()
  sortByPlace(records, got)
  assert.deepEqual([...got], want)
}

test('places sort by bytes, a prefix before what it begins, equal ones in their order', () => {
  const alphabet = [0, 0, 1, 0x61, 0xff]
  let state = 7
  const next = (limit: number) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return (state >>> 8) % limit
  }
  for (let round = 0; round < 40; round++) {
    const longest = 1 + next(14)
    check(
      Array.from({ length: next(400) }, () =>
        Buffer.from(Array.from({ length: next(longest) }, () => alphabet[next(5)] as number)),
      ),
    )
  }
})

test('places with zeros at the end are told apart by their length', () => {
  check(Array.from({ length: 60 }, (_, i) => Buffer.alloc((i * 7) % 11)))
})

test('long common beginnings do not fill the stack', () => {
  const start = Buffer.alloc(60_000, 'x')
  check(Array.from({ length: 40 }, (_, i) => Buffer.concat([start, Buffer.of(i % 3)])))
})
