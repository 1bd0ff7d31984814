/** Sequences of a peer: JSON values of whatever kind, which nobody but the peer itself understands. */
export type PeerSequence = unknown

/** The number that a sequence begins with. */
export function sequenceNumber(seq: PeerSequence): number {
  const first = Array.isArray(seq) ? seq[0] : seq
  if (typeof first === 'number') return first
  const digits = typeof first === 'string' ? /^\d{1,15}/.exec(first)?.[0] : undefined
  return digits === undefined ? 0 : Number(digits)
}

export const sameSequence = (a: PeerSequence, b: PeerSequence): boolean =>
  a === b || JSON.stringify(a) === JSON.stringify(b)
