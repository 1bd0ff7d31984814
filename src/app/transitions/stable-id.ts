/**
 * Ids that come out the same however often they are made: of messages and of contacts that follow from a report. Work that
 * is repeated after a crash finds by them what it had done before.
 */
import { createHash } from 'node:crypto'

/** A UUID of version 8 made of these words. */
export function stableUuid(...words: readonly string[]): string {
  const bytes = createHash('sha256').update(JSON.stringify(words)).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [8, 12, 16, 20, 32]
    .map((end, index, ends) => hex.slice(ends[index - 1] ?? 0, end))
    .join('-')
}
