/**
 * Puts the pieces of a streamed body on the wire: gathers small ones, waits for slow clients.
 *
 * Promises: at most `chunkBytes` and one piece are held; what is held goes out when it is enough, on
 * FLUSH, or after `flushMs` when the source pauses; `put` resolves when there is room again; a client
 * that takes nothing for `sendIdleMs` is cut off. A client that went away is ClientGone.
 */
import type { ServerResponse } from 'node:http'
import { assert } from '../../base/assert.ts'
import { type BodyPiece, FLUSH } from './reply.ts'
import { ClientGone } from './request-body.ts'

export interface PumpOptions {
  /** Pieces are gathered to about so many bytes before they are sent. */
  readonly chunkBytes: number
  /** What was gathered is sent after so long even when it is little. */
  readonly flushMs: number
  /** A client that does not read for so long is cut off. */
  readonly sendIdleMs: number
}

export const PUMP_DEFAULTS: PumpOptions = {
  chunkBytes: 16_384,
  flushMs: 25,
  sendIdleMs: 300_000,
}

export class BodyPump {
  readonly #response: ServerResponse
  readonly #options: PumpOptions
  readonly #lengthBytes: number | undefined
  #held: (Buffer | string)[] = []
  #heldLength = 0
  #timer: NodeJS.Timeout | undefined
  #sentBytes = 0

  constructor(response: ServerResponse, options: PumpOptions, lengthBytes?: number) {
    this.#response = response
    this.#options = options
    this.#lengthBytes = lengthBytes
  }

  get sentBytes(): number {
    return this.#sentBytes
  }

  /** Undefined when the next piece may come at once, else a promise to wait for. */
  put(piece: BodyPiece): Promise<void> | undefined {
    if (this.#response.destroyed) throw new ClientGone()
    if (piece === FLUSH) this.#flush()
    else if (piece.length > 0) this.#hold(piece)
    return this.#response.writableNeedDrain ? this.#drained() : undefined
  }

  /** Sends what is held. Ending the response is the caller's. */
  finish(): void {
    this.#flush()
    const length = this.#lengthBytes
    assert(length === undefined || length === this.#sentBytes, 'the body has the promised length')
  }

  /** Forgets what is held, after an error. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#held = []
  }

  #hold(piece: Buffer | string): void {
    const { chunkBytes, flushMs } = this.#options
    if (this.#heldLength > 0 && this.#heldLength + piece.length > chunkBytes) this.#flush()
    this.#held.push(piece)
    this.#heldLength += piece.length
    if (this.#heldLength >= chunkBytes) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), flushMs)
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (!this.#response.headersSent) this.#response.flushHeaders()
    if (this.#held.length === 0 || this.#response.destroyed) return
    const chunk = joined(this.#held)
    this.#held = []
    this.#heldLength = 0
    this.#sentBytes += typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length
    if (this.#lengthBytes !== undefined) {
      assert(this.#sentBytes <= this.#lengthBytes, 'the body is no longer than promised')
    }
    this.#response.write(chunk)
  }

  #drained(): Promise<void> {
    const response = this.#response
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => response.destroy(), this.#options.sendIdleMs)
      const settle = (): void => {
        clearTimeout(timer)
        response.off('drain', settle).off('close', settle)
        if (response.destroyed) reject(new ClientGone())
        else resolve()
      }
      response.on('drain', settle).on('close', settle)
    })
  }
}

function joined(pieces: readonly (Buffer | string)[]): Buffer | string {
  if (pieces.length === 1) return pieces[0] as Buffer | string
  if (pieces.every(piece => typeof piece === 'string')) return pieces.join('')
  return Buffer.concat(
    pieces.map(piece => (typeof piece === 'string' ? Buffer.from(piece) : piece)),
  )
}
