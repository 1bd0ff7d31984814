/**
 * Part of the program inside a sandbox process: the functions of one design document that are called
 * one at a time: validation, filters, shows, updates and the rewrite function.
 *
 * Each maker takes the parsed arguments and gives the step function that `realm-main.ts` runs per item.
 * `this` of every function is the design document.
 */
import type { UserFunction } from './realm-compile.ts'
import type { Mime } from './realm-mime.ts'
import { fatalText, type Step, type ViewTools } from './realm-views.ts'

export interface DesignTools extends ViewTools {
  readonly mime: Mime
  readonly ddoc: unknown
  readonly compile: (source: string) => UserFunction
  /** The compiled function at a path of the design document. Throws the form `missing`. */
  readonly find: (folder: string, name: string) => UserFunction
}

export function makeFind(
  p: ViewTools['p'],
  ddoc: unknown,
  compile: (source: string) => UserFunction,
): DesignTools['find'] {
  const cache = p.dictionary<UserFunction>()
  const member = (holder: unknown, name: string): unknown =>
    typeof holder === 'object' && holder !== null && p.hasOwn(holder, name)
      ? (holder as Record<string, unknown>)[name]
      : undefined
  return (folder, name) => {
    const path = `${folder}/${name}`
    const cached = cache[path]
    if (cached !== undefined) return cached
    let source = name === '' ? member(ddoc, folder) : member(member(ddoc, folder), name)
    if (folder === 'views') source = member(source, 'map')
    if (typeof source !== 'string') {
      throw ['error', 'function_missing', `missing json key: ${name === '' ? folder : name}`]
    }
    const compiled = compile(source)
    cache[path] = compiled
    return compiled
  }
}

export function makeValidateStep(tools: DesignTools, body: unknown): Step {
  const { p, ddoc, describe, deepFreeze } = tools
  const { items, user, security } = body as { items: unknown[][]; user: unknown; security: unknown }
  const validate = tools.find('validate_doc_update', '')
  deepFreeze(user)
  deepFreeze(security)
  return index => {
    const item = items[index] as unknown[]
    try {
      p.apply(validate, ddoc, [item[0], item[1], user, security])
      return '\x1e'
    } catch (thrown) {
      return `\x15${describe(thrown)}\x1e`
    }
  }
}

export function makeFilterStep(tools: DesignTools, name: string, body: unknown): Step {
  const { p, ddoc, deepFreeze } = tools
  const { docs, req } = body as { docs: unknown[]; req: unknown }
  const filter = tools.find('filters', name)
  deepFreeze(req)
  return index => {
    const doc = docs[index]
    deepFreeze(doc)
    return p.apply(filter, ddoc, [doc, req]) ? '1' : '0'
  }
}

export function makeViewFilterStep(tools: DesignTools, name: string, body: unknown): Step {
  const { docs } = body as { docs: unknown[] }
  const map = tools.find('views', name)
  return index => {
    const doc = docs[index]
    tools.deepFreeze(doc)
    tools.output.clearRows()
    try {
      map(doc)
    } catch (thrown) {
      const fatal = fatalText(tools, thrown)
      if (fatal !== '') return `!${fatal}`
      tools.output.log(`view filter raised exception ${tools.brief(thrown)}`)
      return '0'
    }
    return tools.output.rows() === '' ? '0' : '1'
  }
}

/** A response given as text becomes an object; a chosen representation adds its content type. */
export function wrapResponse(tools: DesignTools, response: unknown): Record<string, unknown> {
  const { p, mime } = tools
  const wrapped = p.dictionary<unknown>()
  if (typeof response === 'string') wrapped.body = response
  else if (typeof response === 'object' && response !== null) {
    const names = p.keys(response)
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string
      wrapped[name] = (response as Record<string, unknown>)[name]
    }
  }
  const type = mime.contentType()
  if (type === '') return wrapped
  const headers = p.dictionary<unknown>()
  headers['Content-Type'] = type
  const own = wrapped.headers
  if (typeof own === 'object' && own !== null) {
    const names = p.keys(own)
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string
      if (p.lower(name) === 'content-type') delete headers['Content-Type']
      headers[name] = (own as Record<string, unknown>)[name]
    }
  }
  wrapped.headers = headers
  return wrapped
}

export function makeShowStep(tools: DesignTools, name: string, body: unknown): Step {
  const { p, ddoc, mime, output } = tools
  const { doc, req } = body as { doc: unknown; req: unknown }
  const show = tools.find('shows', name)
  return () => {
    mime.reset()
    output.takeChunks()
    let result = p.apply(show, ddoc, [doc, req])
    if (mime.isUsed()) result = mime.run(req, ddoc)
    if (!result) result = {}
    if (typeof result !== 'object' && typeof result !== 'string') {
      throw ['error', 'render_error', 'undefined response from show function']
    }
    const response = wrapResponse(tools, result)
    const chunks = output.takeChunks()
    if (chunks !== '')
      response.body = chunks + (typeof response.body === 'string' ? response.body : '')
    return p.text(response)
  }
}

export function makeUpdateStep(tools: DesignTools, name: string, body: unknown): Step {
  const { p, ddoc, mime } = tools
  const { doc, req } = body as { doc: unknown; req: unknown }
  const update = tools.find('updates', name)
  return () => {
    mime.reset()
    if ((req as { method?: unknown } | null)?.method === 'GET') {
      throw ['error', 'method_not_allowed', 'Update functions do not allow GET']
    }
    const result = p.apply(update, ddoc, [doc, req])
    const saved = p.isArray(result) ? result[0] : undefined
    const response = p.isArray(result) ? result[1] : undefined
    if (response === undefined || response === null) {
      throw ['error', 'render_error', 'undefined response from update function']
    }
    return `${p.text(saved)}\x1e${p.text(wrapResponse(tools, response))}\x1e`
  }
}

export function makeRewriteStep(tools: DesignTools, body: unknown): Step {
  const { p, ddoc } = tools
  const { req } = body as { req: unknown }
  const rewrite = tools.find('rewrites', '')
  return () => {
    const result = p.apply(rewrite, ddoc, [req])
    return result ? p.text(result) : ''
  }
}
