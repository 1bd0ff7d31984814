/**
 * One entry a request, handed to whoever keeps the log or counts requests.
 *
 * The entry is a plain value that costs nothing to make; its text is made only when the log's level
 * wants it. Leaves to others: redaction and writing (base/log.ts).
 */
import type { Log } from '../../base/log.ts'

export interface AccessEntry {
  readonly requestId: string
  readonly peer: string
  readonly host: string | undefined
  /** Undefined for strangers and for requests that failed before they were identified. */
  readonly user: string | undefined
  readonly method: string
  readonly target: string
  /** The pattern of the route that matched. */
  readonly route: string | undefined
  /** 0 when the client went away before there was an answer. */
  readonly status: number
  /** `ok`, or `cut` when the answer was not sent to its end. */
  readonly outcome: 'ok' | 'cut'
  readonly durationMs: number
  /** Of the bodies, as far as they were announced or sent. */
  readonly requestBytes: number
  readonly responseBytes: number
}

/** Writes entries at the level CouchDB uses for requests. */
export function accessLogger(log: Log): (entry: AccessEntry) => void {
  return entry => {
    if (!log.enabled('notice')) return
    const { method, target, status, outcome, durationMs, requestId, peer, host, user } = entry
    log.write('notice', `${method} ${target} ${status} ${outcome} ${Math.round(durationMs)}`, {
      requestId,
      peer,
      ...(host === undefined ? {} : { host }),
      ...(user === undefined ? {} : { user }),
    })
  }
}
