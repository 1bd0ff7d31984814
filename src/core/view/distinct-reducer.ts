/**
 * `_approx_count_distinct`: about how many different keys there are, by HyperLogLog with 2^11
 * registers (standard error 2.3 %). Small sets are counted nearly exactly by linear counting.
 *
 * Format of a reduction: 00 and the filled registers as (number, two bytes; rank, one byte), or 01
 * and all registers.
 */
import type { ReduceJob } from '../indexing/reducer.ts'
import type { ViewReducer } from './view-reducer.ts'

export const distinctReducer: ViewReducer = {
  name: '_approx_count_distinct',
  reduce: jobs => jobs.map(registersOf).map(encodeRegisters),
  present: reduction => ({ valueText: Buffer.from(String(estimate(decodeRegisters(reduction)))) }),
}

function registersOf(job: ReduceJob): Uint8Array {
  const registers = new Uint8Array(REGISTERS)
  if ('reductions' in job) {
    for (const reduction of job.reductions) {
      decodeRegisters(reduction).forEach((rank, i) => {
        if (rank > (registers[i] as number)) registers[i] = rank
      })
    }
    return registers
  }
  const { block, from, to } = job.rows
  for (let row = from; row < to; row++) {
    if (row > from && block.hasSameKeyText(row, row - 1)) continue
    const start = block.keyStart(row)
    addKey(registers, block.bytes, start, start + block.keyLength(row))
  }
  return registers
}

function addKey(registers: Uint8Array, bytes: Uint8Array, start: number, end: number): void {
  const high = murmur32(bytes, start, end, 0x9747b28c)
  const register = high >>> (32 - PRECISION)
  // The rank is the place of the first 1 in the rest of this hash, or further on in a second one.
  const rest = (high << PRECISION) >>> 0
  let rank = Math.clz32(rest) + 1
  if (rest === 0) rank = 32 - PRECISION + Math.clz32(murmur32(bytes, start, end, 0x3c6ef372)) + 1
  if (rank > (registers[register] as number)) registers[register] = rank
}

/** MurmurHash3, 32 bits (public domain algorithm). */
function murmur32(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let hash = seed
  let at = start
  for (; at + 4 <= end; at += 4) {
    const word =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)
    hash ^= scramble(word)
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0
  }
  let tail = 0
  for (let i = end - 1; i >= at; i--) tail = (tail << 8) | (bytes[i] as number)
  hash ^= scramble(tail) ^ (end - start)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

function scramble(word: number): number {
  const mixed = Math.imul(word, 0xcc9e2d51)
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593)
}

function estimate(registers: Uint8Array): number {
  let inverse = 0
  let empty = 0
  for (const rank of registers) {
    inverse += 2 ** -rank
    if (rank === 0) empty++
  }
  const raw = (ALPHA * REGISTERS * REGISTERS) / inverse
  const isSmall = raw <= 2.5 * REGISTERS && empty > 0
  return Math.round(isSmall ? REGISTERS * Math.log(REGISTERS / empty) : raw)
}

function encodeRegisters(registers: Uint8Array): Buffer {
  const filled: number[] = []
  registers.forEach((rank, i) => {
    if (rank > 0) filled.push(i >>> 8, i & 0xff, rank)
  })
  if (filled.length >= REGISTERS) return Buffer.concat([Uint8Array.of(1), registers])
  return Buffer.from([0, ...filled])
}

function decodeRegisters(reduction: Buffer): Uint8Array {
  if (reduction[0] === 1) return reduction.subarray(1)
  const registers = new Uint8Array(REGISTERS)
  for (let at = 1; at < reduction.length; at += 3) {
    registers[reduction.readUInt16BE(at)] = reduction[at + 2] as number
  }
  return registers
}

const PRECISION = 11
const REGISTERS = 1 << PRECISION
const ALPHA = 0.7213 / (1 + 1.079 / REGISTERS)
