/**
 * A run: revisions that follow each other without a branch in between, newest first. A tree of
 * revisions is a list of runs; most documents have one. Ids of 16 bytes are packed into one buffer,
 * so a thousand revisions are two buffers and no objects; a run with an id of another length keeps
 * a list.
 */
import {
  decodePayloads,
  encodeNewest,
  encodePayloads,
  firstPayload,
  type Payload,
  truncatePayloads,
} from './revision-payload.ts'

export interface Run {
  /** Index of the run whose newest revision is the parent of our oldest; -1: we are a root. */
  readonly parent: number
  /** Pos of the newest. */
  readonly top: number
  readonly count: number
  readonly ids: Buffer | readonly Buffer[]
  /** See revision-payload.ts. */
  readonly payloads: Buffer
}

const PACKED = 16

/** Pos of the oldest. */
export const bottomOf = (run: Run): number => run.top - run.count + 1

/** `offset` 0 is the newest. */
export const idAt = (run: Run, offset: number): Buffer =>
  Buffer.isBuffer(run.ids)
    ? run.ids.subarray(offset * PACKED, (offset + 1) * PACKED)
    : (run.ids[offset] as Buffer)

export function hasIdAt(run: Run, offset: number, id: Buffer): boolean {
  const { ids } = run
  if (!Buffer.isBuffer(ids)) return (ids[offset] as Buffer).equals(id)
  if (id.length !== PACKED) return false
  const base = offset * PACKED
  for (let at = 0; at < PACKED; at++) if (ids[base + at] !== id[at]) return false
  return true
}

export const idsOf = (run: Run): Buffer[] =>
  Array.from({ length: run.count }, (_, offset) => idAt(run, offset))

export const payloadAt = (run: Run, offset: number): Payload =>
  offset === 0 ? firstPayload(run.payloads) : (decodePayloads(run.payloads)[offset] as Payload)

/** A run of new revisions: only the newest comes with a payload. */
export function makeRun(
  parent: number,
  top: number,
  ids: readonly Buffer[],
  payload: Payload,
): Run {
  const payloads = encodeNewest(payload, ids.length - 1)
  return { parent, top, count: ids.length, ids: pack(ids), payloads }
}

/** The part from `from` (newest of it) to `to` (left out). */
export function sliceRun(run: Run, from: number, to: number): Run {
  const ids = Buffer.isBuffer(run.ids)
    ? run.ids.subarray(from * PACKED, to * PACKED)
    : pack(run.ids.slice(from, to))
  const payloads =
    from === 0
      ? truncatePayloads(run.payloads, to)
      : encodePayloads(decodePayloads(run.payloads).slice(from, to))
  return { parent: run.parent, top: run.top - from, count: to - from, ids, payloads }
}

/** `newer` on top of `older`. */
export function joinRuns(newer: Run, older: Run): Run {
  const ids =
    Buffer.isBuffer(newer.ids) && Buffer.isBuffer(older.ids)
      ? Buffer.concat([newer.ids, older.ids])
      : [...idsOf(newer), ...idsOf(older)]
  return {
    parent: older.parent,
    top: newer.top,
    count: newer.count + older.count,
    ids,
    payloads: Buffer.concat([newer.payloads, older.payloads]),
  }
}

export function withPayloadAt(run: Run, offset: number, payload: Payload): Run {
  const payloads = decodePayloads(run.payloads)
  payloads[offset] = payload
  return { ...run, payloads: encodePayloads(payloads) }
}

function pack(ids: readonly Buffer[]): Buffer | readonly Buffer[] {
  return ids.every(id => id.length === PACKED) ? Buffer.concat(ids as Buffer[]) : ids
}
