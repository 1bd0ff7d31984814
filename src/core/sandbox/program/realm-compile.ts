/**
 * Part of the program inside a sandbox process: source text becomes a function, and `require` finds
 * the CommonJS modules kept as strings inside a design document.
 *
 * Promises the texts of `compilation_error` and `invalid_require_path` that clients know. Modules run
 * once per environment.
 */
import type { Primordials } from './realm-primordials.ts'

export type UserFunction = (...args: unknown[]) => unknown

export function makeCompile(p: Primordials): (source: string) => UserFunction {
  const attempt = (text: string): { value?: unknown; thrown?: unknown } => {
    try {
      return { value: p.evaluate(text) }
    } catch (thrown) {
      return { thrown }
    }
  }
  // Old design documents end a function in `;`, or define helpers before it: the parentheses fit
  // neither, so what does not parse as one expression is tried as a script with a last value.
  return source => {
    const expression = attempt(`(${source}\n)`)
    if (typeof expression.value === 'function') return expression.value as UserFunction
    let trimmed = p.trim(source)
    while (p.slice(trimmed, -1) === ';') trimmed = p.trim(p.slice(trimmed, 0, -1))
    const bare = trimmed === p.trim(source) ? expression : attempt(`(${trimmed}\n)`)
    if (typeof bare.value === 'function') return bare.value as UserFunction
    const script = 'thrown' in expression ? attempt(source) : expression
    if (typeof script.value === 'function') return script.value as UserFunction
    const isExpression = !('thrown' in expression)
    const text = isExpression
      ? `Expression does not eval to a function. (${source})`
      : `${p.string(expression.thrown)} (${source})`
    throw ['error', 'compilation_error', text]
  }
}

interface Place {
  readonly current: unknown
  readonly parent: Place | undefined
  readonly id: string
}

interface LoadedModule {
  exports: unknown
  readonly id: string
}

export function makeRequire(p: Primordials, root: unknown): (name: unknown) => unknown {
  const cache = p.dictionary<LoadedModule>()
  const refuse = (text: string): never => {
    throw ['error', 'invalid_require_path', text]
  }
  const step = (place: Place, name: string): Place => {
    if (name === '.' || name === '') return place
    if (name === '..')
      return place.parent ?? refuse(`Object has no parent ${p.text(place.current)}`)
    const holder = place.current
    const found =
      typeof holder === 'object' && holder !== null && p.hasOwn(holder, name)
        ? (holder as Record<string, unknown>)[name]
        : undefined
    if (found === undefined) refuse(`Object has no property "${name}". ${p.text(holder)}`)
    const id = place.id === '' ? name : `${place.id}/${name}`
    return { current: found, parent: place, id }
  }
  const resolve = (name: string, from: Place | undefined): Place => {
    const names = p.split(name, '/')
    const isRelative = names[0] === '.' || names[0] === '..'
    // A relative path starts at the object that holds the requiring module.
    let place: Place =
      isRelative && from?.parent ? from.parent : { current: root, parent: undefined, id: '' }
    for (let i = 0; i < names.length; i++) place = step(place, names[i] as string)
    if (typeof place.current !== 'string') {
      refuse(`Must require a JavaScript string, not: ${typeof place.current}`)
    }
    return place
  }
  const run = (place: Place, name: string, loaded: LoadedModule): void => {
    const source = `(function (module, exports, require) {${place.current as string}\n})`
    try {
      const body = p.evaluate(source)
      const inner = (other: unknown): unknown => load(p.string(other), place)
      p.apply(body, root, [loaded, loaded.exports, inner])
    } catch (thrown) {
      delete cache[place.id]
      if (p.isArray(thrown) && thrown[0] === 'error') throw thrown
      const text = `Module require('${name}') raised error ${p.string(thrown)}`
      throw ['error', 'compilation_error', text]
    }
  }
  const load = (name: string, from: Place | undefined): unknown => {
    const place = resolve(name, from)
    let loaded = cache[place.id]
    if (loaded === undefined) {
      loaded = { id: place.id, exports: {} }
      cache[place.id] = loaded
      run(place, name, loaded)
    }
    return loaded.exports
  }
  return name => load(p.string(name), undefined)
}
