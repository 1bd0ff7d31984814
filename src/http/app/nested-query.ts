/**
 * Queries whose names are paths: `a[b][0][c]=x` reads as `{a: {b: [{c: 'x'}]}}`. A name that comes several times, or ends
 * in `[]`, is a list. Bounded in depth, in the length of lists and in the number of names, so that no query can become
 * large in memory; what is beyond the depth stays text in the last name, what is beyond a list's length makes an object.
 */
export type QueryValue = string | QueryValue[] | { [name: string]: QueryValue }

const DEPTH_MAX = 5
const LIST_INDEX_MAX = 20
const NAMES_MAX = 1000

export function parseNestedQuery(
  pairs: readonly (readonly [string, string])[],
): Readonly<Record<string, QueryValue>> {
  const root = emptyObject()
  for (const [name, value] of pairs.slice(0, NAMES_MAX)) add(root, pathOf(name), value)
  const named = Object.entries(root).map(([name, value]) => [name, withLists(value)] as const)
  return Object.fromEntries(named)
}

type Holder = { [name: string]: QueryValue }

/** Names may be anything, also those that every object has. */
const emptyObject = (): Holder => Object.create(null) as Holder

function pathOf(name: string): string[] {
  const open = name.indexOf('[')
  if (open <= 0) return [name]
  const path = [name.slice(0, open)]
  const rest = name.slice(open)
  let at = 0
  for (const found of rest.matchAll(/\[([^[\]]*)\]/g)) {
    if (found.index !== at || path.length > DEPTH_MAX) break
    path.push(found[1] as string)
    at = found.index + found[0].length
  }
  return at < rest.length ? [...path, rest.slice(at)] : path
}

function add(root: Holder, path: readonly string[], value: string): void {
  let holder = root
  for (const name of path.slice(0, -1)) {
    const key = keyIn(holder, name)
    const next = holder[key]
    if (typeof next === 'object' && !Array.isArray(next)) holder = next
    else {
      const made = emptyObject()
      if (next !== undefined) made['0'] = next
      holder[key] = made
      holder = made
    }
  }
  const key = keyIn(holder, path.at(-1) as string)
  const known = holder[key]
  if (known === undefined) holder[key] = value
  else if (Array.isArray(known)) known.push(value)
  else holder[key] = [known, value]
}

/** `[]` is the next place of a list. */
const keyIn = (holder: Holder, name: string): string =>
  name === '' ? String(Object.keys(holder).length) : name

/** Objects whose names are places are lists. */
function withLists(value: QueryValue): QueryValue {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(withLists)
  const names = Object.keys(value)
  const isList = names.length > 0 && names.every(name => isPlace(name))
  if (isList) {
    const places = names.map(Number).sort((a, b) => a - b)
    return places.map(place => withLists(value[String(place)] as QueryValue))
  }
  return Object.fromEntries(names.map(name => [name, withLists(value[name] as QueryValue)]))
}

const isPlace = (name: string): boolean =>
  /^(?:0|[1-9]\d?)$/.test(name) && Number(name) <= LIST_INDEX_MAX
