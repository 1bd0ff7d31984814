/**
 * Finds out whether an object has a key twice, at the cost of one table look-up per key. The table
 * lives as long as its scanner; entries of earlier texts are told by their number, so nothing is
 * ever cleared.
 *
 * Keys are compared byte by byte in the buffer they were decoded into. A long search in the table
 * (bad luck or malice) counts as a duplicate: the caller's exact way deals with both.
 */
const PROBES_MAX = 256
const INTS_PER_ENTRY = 4

export class KeyTable {
  #slots = new Int32Array(1024)
  #entries = new Int32Array(512 * INTS_PER_ENTRY)
  /** Entries up to this number belong to earlier texts. */
  #base = 0
  #last = 0

  reset(): void {
    this.#base = this.#last
    if (this.#last > 0x3fffffff || this.#slots.length > 1 << 16) {
      this.#slots = new Int32Array(1024)
      this.#entries = new Int32Array(512 * INTS_PER_ENTRY)
      this.#base = 0
      this.#last = 0
    }
  }

  /**
   * Adds the key at `start`..`end` of `bytes` to an object; false when the object has it already.
   */
  add(object: number, bytes: Buffer, start: number, end: number): boolean {
    const hash = hashOf(object, bytes, start, end)
    const mask = this.#slots.length - 1
    let slot = hash & mask
    for (let probes = 0; ; probes++) {
      const number = this.#slots[slot] as number
      if (number <= this.#base) break
      const entry = (number - this.#base - 1) * INTS_PER_ENTRY
      if (probes > PROBES_MAX) return false
      if (this.#entries[entry] === hash && this.#equals(entry, object, bytes, start, end))
        return false
      slot = (slot + 1) & mask
    }
    this.#insert(slot, hash, object, start, end)
    return true
  }

  #equals(entry: number, object: number, bytes: Buffer, start: number, end: number): boolean {
    const other = this.#entries[entry + 2] as number
    const otherEnd = this.#entries[entry + 3] as number
    if (this.#entries[entry + 1] !== object || otherEnd - other !== end - start) return false
    for (let at = start; at < end; at++) {
      if (bytes[at] !== bytes[other + at - start]) return false
    }
    return true
  }

  #insert(slot: number, hash: number, object: number, start: number, end: number): void {
    this.#last++
    this.#slots[slot] = this.#last
    const entry = (this.#last - this.#base - 1) * INTS_PER_ENTRY
    this.#entries[entry] = hash
    this.#entries[entry + 1] = object
    this.#entries[entry + 2] = start
    this.#entries[entry + 3] = end
    if (entry + INTS_PER_ENTRY === this.#entries.length) this.#grow()
  }

  #grow(): void {
    const entries = new Int32Array(this.#entries.length * 2)
    entries.set(this.#entries)
    const count = this.#last - this.#base
    const slots = new Int32Array(this.#slots.length * 2)
    const mask = slots.length - 1
    for (let index = 0; index < count; index++) {
      let slot = (entries[index * INTS_PER_ENTRY] as number) & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = this.#base + index + 1
    }
    this.#entries = entries
    this.#slots = slots
  }
}

/** Of the last 16 bytes, the length and the object. */
function hashOf(object: number, bytes: Buffer, start: number, end: number): number {
  let hash = Math.imul(object, 0x9e3779b1) ^ (end - start)
  for (let at = end - start > 16 ? end - 16 : start; at < end; at++) {
    hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193)
  }
  return hash ^ (hash >>> 15)
}
