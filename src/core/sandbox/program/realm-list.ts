/**
 * Part of the program inside a sandbox process: a list function pulls rows with `getRow`.
 *
 * User code is synchronous, so when the rows at hand are used up the process blocks on its pipe:
 * `exchange` sends what was produced so far and answers `1` (last batch) or `0` and the next rows as
 * JSON text. The first exchange carries the response of `start`, later ones only chunks.
 */
import type { DesignTools } from './realm-design.ts'
import { wrapResponse } from './realm-design.ts'
import type { Step } from './realm-views.ts'

/** Sends `kind` with a text, answers the text that came back. */
export type Exchange = (kind: 'start' | 'chunks', text: string) => string

export interface ListHelpers {
  readonly start: (response: unknown) => void
  readonly getRow: () => unknown
  /** Begins a list: until then `getRow` answers null. */
  readonly open: (tools: DesignTools) => void
  /** Ends it; answers whether the response of `start` still has to go out, and does that. */
  readonly close: () => void
  readonly abandon: () => void
}

export function makeListHelpers(p: DesignTools['p'], exchange: Exchange): ListHelpers {
  let tools: DesignTools | undefined
  let response: unknown = {}
  let isStarted = false
  let isLast = false
  let rows: unknown[] = p.list()
  let next = 0
  const ask = (open: DesignTools): void => {
    const chunks = open.output.takeChunks()
    const text = isStarted ? chunks : `${p.text(wrapResponse(open, response))}\x1e${chunks}`
    let answer = ''
    try {
      answer = exchange(isStarted ? 'chunks' : 'start', text)
    } catch {
      // Never let an error object of the outer realm reach a user function.
      throw ['error', 'list_error', 'rows cannot be read']
    }
    isStarted = true
    isLast = p.slice(answer, 0, 1) === '1'
    rows = p.parse(p.slice(answer, 1)) as unknown[]
    next = 0
  }
  return p.freeze({
    start: (given: unknown) => {
      if (tools !== undefined && !isStarted) response = given ?? {}
    },
    getRow: () => {
      if (tools === undefined) return null
      while (next >= rows.length && !isLast) ask(tools)
      return next < rows.length ? rows[next++] : null
    },
    open: (given: DesignTools) => {
      tools = given
      response = {}
      isStarted = false
      isLast = false
      rows = p.list()
      next = 0
    },
    close: () => {
      if (tools !== undefined && !isStarted) ask(tools)
      tools = undefined
    },
    abandon: () => {
      tools = undefined
    },
  })
}

export function makeListStep(tools: DesignTools, name: string, body: unknown): Step {
  const { p, ddoc, mime, output } = tools
  const { head, req } = body as { head: unknown; req: unknown }
  const listing = (tools as DesignTools & { listing: ListHelpers }).listing
  const list = tools.find('lists', name)
  return () => {
    mime.reset()
    output.takeChunks()
    listing.open(tools)
    try {
      let tail = p.apply(list, ddoc, [head, req])
      if (mime.isUsed()) tail = mime.run(req, ddoc)
      listing.close()
      // Free text: the mark keeps it apart from the `!` of an error.
      return `+${output.takeChunks()}${tail === undefined || tail === null ? '' : p.string(tail)}`
    } finally {
      listing.abandon()
    }
  }
}
