/**
 * Part of the program inside a sandbox process: the helpers that user functions call, and where what
 * they produce is kept until the call ends.
 *
 * Everything is kept as one growing string: strings cannot be tampered with, and JSON text never holds
 * a control character, so control characters separate the pieces (the grammar is in `reply-text.ts`).
 */
import type { Primordials } from './realm-primordials.ts'

export interface Output {
  readonly emit: (key: unknown, value: unknown) => void
  readonly log: (message: unknown) => void
  readonly send: (chunk: unknown) => void
  readonly clearRows: () => void
  readonly rows: () => string
  readonly takeChunks: () => string
  readonly takeLog: () => string
}

export function makeOutput(p: Primordials): Output {
  const { text } = p
  const logCharsMax = 32_000
  let rows = ''
  let chunks = ''
  let log = ''
  return p.freeze({
    emit: (key: unknown, value: unknown) => {
      rows += `${text(key)}\x1f${text(value)}\x1e`
    },
    log: (message: unknown) => {
      // Bounded: what exceeds the limit of one request is dropped, the first lines tell the story.
      if (log.length > logCharsMax) return
      const line = p.slice(typeof message === 'string' ? message : text(message), 0, 4000)
      log += `${log === '' ? '' : ','}${text(line)}`
    },
    send: (chunk: unknown) => {
      chunks += p.string(chunk)
    },
    clearRows: () => {
      rows = ''
    },
    rows: () => rows,
    takeChunks: () => {
      const taken = chunks
      chunks = ''
      return taken
    },
    takeLog: () => {
      const taken = log === '' ? '' : `[${log}]`
      log = ''
      return taken
    },
  })
}

export function makeSum(p: Primordials): (values: unknown) => unknown {
  return values => {
    let total: unknown = 0
    if (!p.isArray(values)) return total
    for (let i = 0; i < values.length; i++) total = (total as number) + (values[i] as number)
    return total
  }
}

/** Defines the helpers as globals that no function can replace for the others. */
export function defineGlobals(p: Primordials, helpers: Record<string, unknown>): void {
  const names = p.keys(helpers)
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string
    Object.defineProperty(globalThis, name, { value: helpers[name], enumerable: true })
  }
}
