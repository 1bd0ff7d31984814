/**
 * What an engine that several nodes share offers beyond the port, so that each hears of what the others do. Nothing of it
 * is needed for right answers: a message may be lost, and who polls `versions` finds out all the same.
 */
import type { StoreId } from './engine.ts'

export interface Peers {
  /** Every store with a number that is another after each of its commits. */
  versions(): Promise<[id: StoreId, version: bigint][]>
  /** Tells all who listen, this node included; does nothing where there is no way to. Short texts only. */
  say(message: string): Promise<void>
  listen(ears: Ears): Listening
}

export interface Ears {
  readonly hear: (message: string) => void
  /** Messages may have been missed: look for yourself. */
  readonly miss: () => void
}

export interface Listening {
  /** False while messages do not come through, or never do. */
  readonly isOn: boolean
  close(): void
}

/** Bytes of one message at the most. */
export const MESSAGE_BYTES_MAX = 7500
