/**
 * Random documents, written in random ways, through the one-pass scanner. The exact parser says
 * what the stored text must be, a plain encoder here what the hash input must be. Damaged texts
 * must be refused by both or by none, and never accepted where JSON.parse refuses. GURNEY_SEED
 * repeats a run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../src/base/errors.ts'
import { type Json, JsonFloat, parseJson, printJson } from '../../src/base/json/exact-json.ts'
import { type IncomingDocument, scanDocument } from '../../src/core/document/incoming-document.ts'

const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000_000)
console.log(`document-json fuzz: GURNEY_SEED=${seed}`)
const RUN_MS = 2000

let state = seed | 0
/** From 0 to below `end`. */
function random(end: number): number {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * end)
}
const pick = <T>(items: readonly T[]): T => items[random(items.length)] as T

const blank = () => (random(4) === 0 ? pick([' ', '\n', '\t ', '\r\n  ']) : '')

function writtenCharacter(character: string): string {
  const code = character.codePointAt(0) as number
  if (code < 0x20 || random(12) === 0) {
    return Array.from({ length: character.length }, (_, at) => {
      const hex = character.charCodeAt(at).toString(16).padStart(4, '0')
      return `\\u${random(2) ? hex : hex.toUpperCase()}`
    }).join('')
  }
  if (character === '"' || character === '\\') return `\\${character}`
  if (character === '/' && random(2) === 0) return '\\/'
  return character
}

const CHARACTERS = [
  'a',
  'b',
  'z',
  ' ',
  '_',
  '"',
  '\\',
  '/',
  'é',
  '€',
  '😀',
  '\u0001',
  '\n',
  '\u007f',
  '0',
]

const word = (length: number) => Array.from({ length }, () => pick(CHARACTERS)).join('')

const writtenText = (text: string) => `"${Array.from(text, writtenCharacter).join('')}"`

function writtenNumber(): string {
  const digits = (count: number) => Array.from({ length: count }, () => random(10)).join('')
  const whole =
    random(3) === 0 ? '0' : `${1 + random(9)}${digits(random(random(8) === 0 ? 40 : 6))}`
  const sign = random(4) === 0 ? '-' : ''
  const fraction = random(3) === 0 ? `.${digits(1 + random(random(5) === 0 ? 20 : 4))}` : ''
  const exponent = random(6) === 0 ? `${pick(['e', 'E'])}${pick(['', '+', '-'])}${random(40)}` : ''
  return sign + whole + fraction + exponent
}

function writtenValue(depth: number): string {
  const kind = random(depth > 4 ? 5 : 8)
  if (kind < 2) return writtenText(word(random(random(20) === 0 ? 200 : 8)))
  if (kind === 2) return writtenNumber()
  if (kind === 3) return String(random(300))
  if (kind === 4) return pick(['true', 'false', 'null'])
  if (kind === 5) return writtenBytes()
  const items = Array.from({ length: random(6) }, () => writtenValue(depth + 1))
  if (kind === 6) return `[${blank()}${items.map(item => item + blank()).join(`,${blank()}`)}]`
  return writtenObject(items.map(item => [word(1 + random(4)), item]))
}

/** Lists of small integers have an encoding of their own. */
const writtenBytes = () =>
  `[${Array.from({ length: random(12) }, () => random(random(9) ? 256 : 300))}]`

const writtenObject = (members: [string, string][]) =>
  `{${blank()}${members
    .map(([key, value]) => `${writtenText(key)}${blank()}:${blank()}${value}${blank()}`)
    .join(`,${blank()}`)}}`

const SPECIAL: [string, () => string][] = [
  ['_id', () => writtenText(`x${word(3)}`)],
  ['_rev', () => '"1-abc"'],
  ['_deleted', () => pick(['true', 'false'])],
  ['_conflicts', () => writtenValue(3)],
  ['_revisions', () => '{"start":2,"ids":["b","a"]}'],
  ['_attachments', () => '{"a" : {"data":"aGk=","x":[{"y":1}]}}'],
  ['_access', () => writtenValue(3)],
]

function writtenDocument(): string {
  const members: [string, string][] = Array.from({ length: random(8) }, () => [
    `k${word(random(4))}`,
    writtenValue(0),
  ])
  for (let count = random(4); count > 0; count--) {
    const [name, value] = pick(SPECIAL)
    members.splice(random(members.length + 1), 0, [name, value()])
  }
  return blank() + writtenObject(members) + blank()
}

/** The external term of a value, the slow and plain way. */
function termOf(value: Json): Buffer {
  if (value === null || typeof value === 'boolean') return atom(String(value))
  if (typeof value === 'string') return binary(value)
  if (value instanceof JsonFloat) {
    const bytes = Buffer.alloc(9, 70)
    bytes.writeDoubleBE(value.value, 1)
    return bytes
  }
  if (typeof value === 'number' || typeof value === 'bigint') return integer(BigInt(value))
  if (Array.isArray(value)) return listOf(value)
  const pairs = [...value].map(([key, member]) =>
    Buffer.concat([Buffer.from([104, 2]), binary(key), termOf(member)]),
  )
  return Buffer.concat([Buffer.from([104, 1]), proper(pairs)])
}

function listOf(items: Json[]): Buffer {
  const isByte = (item: Json) => typeof item === 'number' && item >= 0 && item <= 255
  if (items.length > 0 && items.length < 65536 && items.every(isByte)) {
    const head = Buffer.from([107, items.length >> 8, items.length & 255])
    return Buffer.concat([head, Buffer.from(items as number[])])
  }
  return proper(items.map(termOf))
}

function proper(items: Buffer[]): Buffer {
  if (items.length === 0) return Buffer.from([106])
  return Buffer.concat([sized(108, items.length), ...items, Buffer.from([106])])
}

function sized(tag: number, count: number): Buffer {
  const bytes = Buffer.alloc(5, tag)
  bytes.writeUInt32BE(count, 1)
  return bytes
}

const binary = (text: string) =>
  Buffer.concat([sized(109, Buffer.byteLength(text)), Buffer.from(text)])

const atom = (name: string) => Buffer.from([100, 0, name.length, ...Buffer.from(name)])

function integer(value: bigint): Buffer {
  if (value >= 0n && value <= 255n) return Buffer.from([97, Number(value)])
  if (value >= -(2n ** 31n) && value < 2n ** 31n) {
    const bytes = Buffer.alloc(5, 98)
    bytes.writeInt32BE(Number(value), 1)
    return bytes
  }
  const magnitude: number[] = []
  for (let rest = value < 0n ? -value : value; rest > 0n; rest >>= 8n) {
    magnitude.push(Number(rest & 255n))
  }
  assert.ok(magnitude.length < 256)
  return Buffer.from([110, magnitude.length, value < 0n ? 1 : 0, ...magnitude])
}

const DROPPED = ['_id', '_rev', '_deleted', '_conflicts', '_revisions', '_attachments']

function check(text: string): void {
  const { document } = scanDocument(Buffer.from(text))
  const whole = parseJson(text)
  assert.ok(whole instanceof Map)
  const body = new Map([...whole].filter(([key]) => !DROPPED.includes(key)))
  assert.equal(document.body.toString(), printJson(body), text)
  assert.equal(document.bodyTerm.toString('hex'), termOf(body).toString('hex'), text)
  assert.equal(document.id, whole.get('_id'), text)
  assert.equal(document.deleted, whole.get('_deleted') ?? false, text)
}

function attempt<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch (thrown) {
    if (isFailure(thrown) && thrown.code === 'json_invalid') return undefined
    if (isFailure(thrown)) return NEITHER as T
    throw thrown
  }
}
const NEITHER = Symbol('refused for another reason')

function damage(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  const at = random(copy.length)
  const kind = random(3)
  if (kind === 0) return Buffer.concat([copy.subarray(0, at), copy.subarray(at + 1)])
  const byte = pick([
    0x22,
    0x5c,
    0x2c,
    0x3a,
    0x7b,
    0x7d,
    0x5b,
    0x5d,
    0x30,
    0x2d,
    0x2e,
    0x65,
    0,
    random(256),
  ])
  if (kind === 1) copy[at] = byte
  return kind === 1
    ? copy
    : Buffer.concat([copy.subarray(0, at), Buffer.from([byte]), copy.subarray(at)])
}

function checkDamaged(bytes: Buffer): void {
  const exact = attempt(() => parseJson(bytes))
  const scanned: IncomingDocument | undefined = attempt(() => scanDocument(bytes).document)
  assert.equal(scanned === undefined, exact === undefined, `${bytes.toString('hex')} ${bytes}`)
  if (exact !== undefined) assert.doesNotThrow(() => JSON.parse(bytes.toString()), bytes.toString())
}

test('random documents', () => {
  const until = Date.now() + RUN_MS
  let count = 0
  for (; Date.now() < until; count++) check(writtenDocument())
  assert.ok(count > 0)
})

test('damaged documents', () => {
  const until = Date.now() + RUN_MS
  let count = 0
  for (; Date.now() < until; count++) checkDamaged(damage(Buffer.from(writtenDocument())))
  assert.ok(count > 0)
})
