/**
 * Routing by path segments: a trie built once from a route table.
 *
 * Promises: a literal segment beats a parameter, a parameter beats a last `{rest...}`; when a more
 * literal branch leads nowhere the next one is tried. Matching looks at the path only; the method is
 * checked later by `methodOf`, because who may see the path is decided in between.
 * Leaves to others: decoding (url.ts), what a handler is. The router is generic over the route.
 */
import { assert } from '../../base/assert.ts'
import { Failure } from '../../base/errors.ts'

export interface RouteShape<Handler = unknown> {
  /** `/{db}/_design/{ddoc}/_view/{view}`; a last `{rest...}` takes one or more segments. */
  readonly path: string
  /** HTTP method -> handler, in the order in which the 405 text names them. HEAD falls to GET. */
  readonly methods: Readonly<Record<string, Handler>>
  /** The list of the 405 text where it is not simply the methods: `GET,POST,HEAD`. */
  readonly allow?: string
}

export type HandlerOf<Route extends RouteShape> = Route['methods'][string]

export interface Match<Route> {
  readonly route: Route
  readonly params: Params
}

/** The values of a path's parameters, by the names the route gave them. */
export class Params {
  readonly #names: readonly string[]
  readonly #values: readonly string[]
  /** The segments that `{rest...}` took, decoded; empty for routes without one. */
  readonly rest: readonly string[]

  constructor(names: readonly string[], values: readonly string[], rest: readonly string[]) {
    this.#names = names
    this.#values = values
    this.rest = rest
  }

  /** Asking for a name that the route does not have is our own mistake. */
  get(name: string): string {
    const value = this.#values[this.#names.indexOf(name)]
    assert(value !== undefined, `the route has no parameter ${name}`)
    return value
  }

  has(name: string): boolean {
    return this.#names.includes(name)
  }
}

const NOTHING: readonly string[] = []
const NO_PARAMS = new Params(NOTHING, NOTHING, NOTHING)

interface End<Route> {
  readonly route: Route
  readonly names: readonly string[]
  /** Which segments are the values of `names`. */
  readonly positions: readonly number[]
  readonly restAt: number
}

class Node<Route> {
  readonly literals = new Map<string, Node<Route>>()
  parameter: Node<Route> | undefined
  end: End<Route> | undefined
  rest: End<Route> | undefined
}

export class Router<Route extends RouteShape> {
  readonly #root = new Node<Route>()

  constructor(routes: Iterable<Route>) {
    for (const route of routes) this.#add(route)
  }

  match(segments: readonly string[]): Match<Route> | undefined {
    const end = find(this.#root, segments, 0)
    if (end === undefined) return undefined
    if (end.names.length === 0 && end.restAt < 0) return { route: end.route, params: NO_PARAMS }
    const values = end.positions.map(position => segments[position] as string)
    const rest = end.restAt < 0 ? NOTHING : segments.slice(end.restAt)
    return { route: end.route, params: new Params(end.names, values, rest) }
  }

  #add(route: Route): void {
    const parts = route.path.split('/').filter(part => part !== '')
    const names: string[] = []
    const positions: number[] = []
    let node = this.#root
    for (const [position, part] of parts.entries()) {
      if (part.endsWith('...}')) {
        assert(position === parts.length - 1, `${route.path}: only the last part takes the rest`)
        assert(node.rest === undefined, `${route.path}: another route takes the rest already`)
        node.rest = { route, names, positions, restAt: position }
        return
      }
      if (part.startsWith('{')) {
        names.push(part.slice(1, -1))
        positions.push(position)
      }
      node = stepInto(node, part)
    }
    assert(node.end === undefined, `${route.path}: another route has this path already`)
    node.end = { route, names, positions, restAt: -1 }
  }
}

function stepInto<Route>(node: Node<Route>, part: string): Node<Route> {
  if (part.startsWith('{')) {
    node.parameter ??= new Node()
    return node.parameter
  }
  const child = node.literals.get(part) ?? new Node<Route>()
  node.literals.set(part, child)
  return child
}

/** As deep as the longest path of the table, and at most three branches a level. */
function find<Route>(
  node: Node<Route>,
  segments: readonly string[],
  depth: number,
): End<Route> | undefined {
  const segment = segments[depth]
  if (segment === undefined) return node.end
  const literal = node.literals.get(segment)
  const found = literal === undefined ? undefined : find(literal, segments, depth + 1)
  if (found !== undefined) return found
  if (node.parameter !== undefined) {
    const below = find(node.parameter, segments, depth + 1)
    if (below !== undefined) return below
  }
  return node.rest
}

/** The handler for the method, else Failure('method_not_allowed') with `allow` for the header. */
export function methodOf<Route extends RouteShape>(route: Route, method: string): HandlerOf<Route> {
  const { methods } = route
  if (Object.hasOwn(methods, method)) return methods[method] as HandlerOf<Route>
  if (method === 'HEAD' && Object.hasOwn(methods, 'GET')) return methods.GET as HandlerOf<Route>
  const allow = route.allow ?? Object.keys(methods).join(',')
  throw new Failure('method_not_allowed', {
    reason: `Only ${allow} allowed`,
    allow: allowHeader(allow),
  })
}

/** `GET,HEAD` as the text has it -> `GET, HEAD` for the header. */
export const allowHeader = (allow: string): string => allow.split(',').join(', ')
