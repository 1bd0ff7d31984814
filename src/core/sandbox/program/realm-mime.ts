/**
 * Part of the program inside a sandbox process: `provides` and `registerType`, the choice among
 * several representations by `?format=` or the Accept header.
 *
 * Higher quality wins, then the more specific range, then the one registered first.
 */
import type { UserFunction } from './realm-compile.ts'
import type { Primordials } from './realm-primordials.ts'

export interface Mime {
  readonly provides: (type: unknown, make: unknown) => void
  readonly registerType: (...names: unknown[]) => void
  readonly reset: () => void
  readonly isUsed: () => boolean
  /** Runs the representation the request prefers. Throws `not_acceptable`. */
  readonly run: (req: unknown, self: unknown) => unknown
  readonly contentType: () => string
}

export function knownTypes(): Record<string, string[]> {
  return {
    all: ['*/*'],
    text: ['text/plain; charset=utf-8', 'txt'],
    html: ['text/html; charset=utf-8'],
    xhtml: ['application/xhtml+xml', 'xhtml'],
    xml: ['application/xml', 'text/xml', 'application/x-xml'],
    js: ['text/javascript', 'application/javascript', 'application/x-javascript'],
    css: ['text/css'],
    ics: ['text/calendar'],
    csv: ['text/csv'],
    rss: ['application/rss+xml'],
    atom: ['application/atom+xml'],
    yaml: ['application/x-yaml', 'text/yaml'],
    multipart_form: ['multipart/form-data'],
    url_encoded_form: ['application/x-www-form-urlencoded'],
    json: ['application/json', 'text/x-json'],
  }
}

/** How well an Accept header likes a type: quality first, then how specific its range is; 0: no. */
export function acceptance(p: Primordials, accept: string, mime: string): number {
  const wanted = p.split(p.lower(p.trim(p.split(mime, ';')[0] as string)), '/')
  const ranges = p.split(p.lower(accept), ',')
  let best = 0
  let bestSpecific = -1
  for (let i = 0; i < ranges.length; i++) {
    const parts = p.split(ranges[i] as string, ';')
    const range = p.split(p.trim(parts[0] as string), '/')
    const isMajor = range[0] === wanted[0]
    const isMinor = range[1] === wanted[1]
    const specific = isMajor && isMinor ? 2 : isMajor && range[1] === '*' ? 1 : 0
    const isAny = wanted[0] === '*' || (range[0] === '*' && range[1] === '*')
    if ((specific === 0 && !isAny) || specific <= bestSpecific) continue
    let quality = 1
    for (let k = 1; k < parts.length; k++) {
      const parameter = p.trim(parts[k] as string)
      if (p.slice(parameter, 0, 2) === 'q=') quality = p.number(p.slice(parameter, 2)) || 0
    }
    bestSpecific = specific
    best = quality <= 0 ? 0 : quality * 1000 + specific
  }
  return best
}

/** The first header of that name, whatever its case. */
export function headerOf(p: Primordials, req: unknown, name: string): string | undefined {
  const headers = (req as { headers?: Record<string, unknown> } | null)?.headers
  if (typeof headers !== 'object' || headers === null) return undefined
  const names = p.keys(headers)
  for (let i = 0; i < names.length; i++) {
    const candidate = names[i] as string
    if (p.lower(candidate) === name) return p.string(headers[candidate])
  }
  return undefined
}

export function makeMime(p: Primordials): Mime {
  const types = p.dictionary<string[]>()
  const known = knownTypes()
  for (const name in known) types[name] = known[name] as string[]
  let offers = p.list<{ type: string; make: UserFunction }>()
  let contentType = ''
  const choose = (req: unknown): { make: UserFunction; mime: string } | undefined => {
    const format = (req as { query?: { format?: unknown } } | null)?.query?.format
    const accept = headerOf(p, req, 'accept')
    let chosen: { make: UserFunction; mime: string } | undefined
    let chosenScore = 0
    for (let i = 0; i < offers.length; i++) {
      const offer = offers[i] as { type: string; make: UserFunction }
      const mimes = types[offer.type] ?? [offer.type]
      const isNamed = format === undefined ? accept === undefined : offer.type === format
      for (let k = 0; k < mimes.length; k++) {
        const mime = mimes[k] as string
        const byAccept = format === undefined && accept ? acceptance(p, accept, mime) : 0
        const score = isNamed ? 1 : byAccept
        if (score > chosenScore) {
          chosen = { make: offer.make, mime }
          chosenScore = score
        }
      }
    }
    return chosen
  }
  const refuse = (req: unknown): never => {
    const format = (req as { query?: { format?: unknown } } | null)?.query?.format
    let offered = ''
    for (let i = 0; i < offers.length; i++) {
      const type = (offers[i] as { type: string }).type
      offered += `${i === 0 ? '' : ', '}${(types[type] ?? [type])[0]}`
    }
    const asked = p.string(format ?? headerOf(p, req, 'accept'))
    const text = `Content-Type ${asked} not supported, try one of: ${offered}`
    throw ['error', 'not_acceptable', text]
  }
  return p.freeze({
    provides: (type: unknown, make: unknown) => {
      offers[offers.length] = { type: p.string(type), make: make as UserFunction }
    },
    registerType: (...names: unknown[]) => {
      const mimes = p.list<string>()
      for (let i = 1; i < names.length; i++) mimes[mimes.length] = p.string(names[i])
      types[p.string(names[0])] = mimes
    },
    reset: () => {
      offers = p.list()
      contentType = ''
    },
    isUsed: () => offers.length > 0,
    run: (req: unknown, self: unknown) => {
      const chosen = choose(req) ?? refuse(req)
      contentType = chosen.mime === '*/*' ? '' : chosen.mime
      return p.apply(chosen.make, self, [])
    },
    contentType: () => contentType,
  })
}
