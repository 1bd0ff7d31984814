/**
 * A growing list of whole numbers below 2^32, four bytes each: what an array of millions of them should be. `values` is
 * for loops; it is another array after a push that had to make room.
 */
export class NumberList {
  values: Uint32Array
  length = 0

  readonly #isShared: boolean

  /** @param isShared other threads are to see it */
  constructor(capacity = 64, isShared = false) {
    this.#isShared = isShared
    this.values = this.#allocate(capacity)
  }

  /** Makes sure that `count` more fit; the caller may then write into `values` himself. */
  reserve(count: number): void {
    if (this.length + count > this.values.length) this.#grow(this.length + count)
  }

  push(value: number): void {
    if (this.length === this.values.length) this.#grow(this.length + 1)
    this.values[this.length++] = value
  }

  clear(): void {
    this.length = 0
  }

  /** The numbers, without the room behind them. */
  taken(): Uint32Array {
    return this.values.subarray(0, this.length)
  }

  #grow(count: number): void {
    const grown = this.#allocate(Math.max(count, this.values.length * 2))
    grown.set(this.values)
    this.values = grown
  }

  #allocate(count: number): Uint32Array {
    return this.#isShared
      ? new Uint32Array(new SharedArrayBuffer(count * 4))
      : new Uint32Array(count)
  }
}
