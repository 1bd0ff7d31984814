/** Random documents of mixed types and selectors about them, from a seed. */
import type { JsonObject, JsonValue, MutableJsonObject } from '../../src/core/mango/json-value.ts'

export function makeRandom(start: number) {
  let state = start | 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  const below = (count: number) => Math.floor(next() * count)
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T
  return { below, pick, chance: (part: number) => next() < part }
}
export type Random = ReturnType<typeof makeRandom>

export const FIELDS = ['a', 'b', 'c', 'o.p', '_id']
export const TEXTS = [
  '',
  'a',
  'A',
  'b',
  'B',
  'ab',
  'aB',
  'é',
  'e\u0301',
  'e',
  'z',
  '_',
  '-',
  'a\u0000',
  'и',
  'и\u0306',
  'й',
  'เก',
  'ก',
  '😀',
  '\uffee',
  'Élan',
  'x\uffff',
]

export function randomValue(random: Random, depth = 0): JsonValue {
  const kind = random.below(depth > 1 ? 5 : 7)
  if (kind === 0) return null
  if (kind === 1) return random.chance(0.5)
  if (kind === 2) return random.below(5) - 2
  if (kind === 3) return random.below(10) / 4
  if (kind === 4) return random.pick(TEXTS)
  const length = random.below(3)
  if (kind === 5) return Array.from({ length }, () => randomValue(random, depth + 1))
  const object: MutableJsonObject = {}
  for (let at = 0; at < length; at++)
    object[random.pick(['p', 'q', 'r'])] = randomValue(random, depth + 1)
  return object
}

export function randomDocuments(random: Random): JsonObject[] {
  const ids = new Set<string>()
  const count = random.below(40)
  while (ids.size < count) ids.add(random.pick(TEXTS) + random.pick(TEXTS) + random.below(9))
  return [...ids].map(id => {
    const document: MutableJsonObject = { _id: id }
    for (const name of ['a', 'b', 'c']) if (random.chance(0.7)) document[name] = randomValue(random)
    if (random.chance(0.7))
      document.o = random.chance(0.8) ? { p: randomValue(random) } : randomValue(random)
    return document
  })
}

export function randomCondition(random: Random): JsonValue {
  const value = randomValue(random)
  switch (random.below(13)) {
    case 0:
      return { $in: [value, randomValue(random)] }
    case 1:
      return { $nin: [value] }
    case 2:
      return { $exists: random.chance(0.7) }
    case 3:
      return { $beginsWith: random.pick(TEXTS) }
    case 4:
      return { $type: random.pick(['null', 'number', 'string', 'array', 'object']) }
    case 5:
      return { $not: { [random.pick(['$lt', '$eq', '$gte'])]: value } }
    case 6:
      return { $elemMatch: { [random.pick(['$lt', '$eq', '$gte'])]: value } }
    case 7:
      return {
        [random.pick(['$gt', '$gte'])]: value,
        [random.pick(['$lt', '$lte'])]: randomValue(random),
      }
    case 8:
      return { $regex: random.pick(['^a', 'b$', '[^a]', '(?i)a']) }
    default:
      return { [random.pick(['$lt', '$lte', '$eq', '$ne', '$gte', '$gt'])]: value }
  }
}

export function randomSelector(random: Random, depth = 0): JsonObject {
  const parts = Array.from({ length: 1 + random.below(3) }, () =>
    depth < 2 && random.chance(0.25)
      ? randomSelector(random, depth + 1)
      : { [random.pick(FIELDS)]: randomCondition(random) },
  )
  const kind = random.below(6)
  if (kind === 0) return { $or: parts }
  if (kind === 1) return { $nor: parts }
  if (kind === 2) return { $not: { $and: parts } }
  return kind === 3 && random.chance(0.2) ? { $and: [...parts, { $or: [] }] } : { $and: parts }
}
