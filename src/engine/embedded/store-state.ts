/**
 * The state of a store's file, kept in the file under a reserved key, so that it changes with a
 * commit and every process sees the change at once: each read and each write looks at it first (0.2
 * µs).
 *
 *   byte 0      'L' live   'J' live, with a journal for a compaction   'M' moved   'D' deleted
 *   bytes 1-6   the generation that is being made ('J') or that took over ('M'), else 0
 *   bytes 7-10  process id of the compaction ('J'), else 0
 *
 * A file without a state was never completed. 'M' and 'D' are final: nothing is written to the file
 * afterwards.
 */
import { Failure } from '../../base/errors.ts'
import { ReservedKey } from './reserved-keys.ts'

export interface StoreState {
  readonly kind: StateKind
  readonly generation: number
  readonly pid: number
}

export type StateKind = 'live' | 'journaling' | 'moved' | 'deleted'

export const STATE_KEY = new ReservedKey(Buffer.from('s'))

export const LIVE: StoreState = { kind: 'live', generation: 0, pid: 0 }
export const DELETED: StoreState = { kind: 'deleted', generation: 0, pid: 0 }

const LIVE_BYTE = 0x4c
const JOURNALING_BYTE = 0x4a
const MOVED_BYTE = 0x4d
const DELETED_BYTE = 0x44

const BYTE_OF: Readonly<Record<StateKind, number>> = {
  live: LIVE_BYTE,
  journaling: JOURNALING_BYTE,
  moved: MOVED_BYTE,
  deleted: DELETED_BYTE,
}

/** Whether the file still answers, from the first byte of its state alone. */
export const isServing = (firstByte: number): boolean =>
  firstByte === LIVE_BYTE || firstByte === JOURNALING_BYTE

export const isJournaling = (firstByte: number): boolean => firstByte === JOURNALING_BYTE

export function encodeState(state: StoreState): Buffer {
  const bytes = Buffer.alloc(11)
  bytes[0] = BYTE_OF[state.kind]
  bytes.writeUIntBE(state.generation, 1, 6)
  bytes.writeUInt32BE(state.pid, 7)
  return bytes
}

/** `subject` names the file in the Failure for bytes that make no sense. */
export function decodeState(bytes: Buffer, subject: string): StoreState {
  const kind = (Object.keys(BYTE_OF) as StateKind[]).find(each => BYTE_OF[each] === bytes[0])
  if (kind === undefined || bytes.length !== 11) {
    throw new Failure('storage_corrupt', {
      subject,
      reason: 'the state of the store is unreadable',
    })
  }
  return { kind, generation: bytes.readUIntBE(1, 6), pid: bytes.readUInt32BE(7) }
}
