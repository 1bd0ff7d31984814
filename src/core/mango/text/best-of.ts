/** Keeps the first so many of what it is given, by an order, in a heap with the last of them on top. */
export class BestOf<T> {
  readonly #heap: T[] = []
  readonly #countMax: number
  readonly #compare: (a: T, b: T) => number

  constructor(countMax: number, compare: (a: T, b: T) => number) {
    this.#countMax = countMax
    this.#compare = compare
  }

  add(item: T): void {
    if (this.#heap.length < this.#countMax) {
      this.#heap.push(item)
      this.#rise(this.#heap.length - 1)
    } else if (this.#compare(item, this.#heap[0] as T) < 0) {
      this.#heap[0] = item
      this.#sink()
    }
  }

  /** In order. */
  sorted(): T[] {
    return this.#heap.toSorted(this.#compare)
  }

  #rise(start: number): void {
    for (let at = start; at > 0; ) {
      const parent = (at - 1) >>> 1
      if (!this.#isAfter(at, parent)) return
      this.#swap(at, parent)
      at = parent
    }
  }

  #sink(): void {
    for (let at = 0; ; ) {
      const left = 2 * at + 1
      if (left >= this.#heap.length) return
      const right = left + 1
      const later = right < this.#heap.length && this.#isAfter(right, left) ? right : left
      if (!this.#isAfter(later, at)) return
      this.#swap(later, at)
      at = later
    }
  }

  #isAfter(one: number, two: number): boolean {
    return this.#compare(this.#heap[one] as T, this.#heap[two] as T) > 0
  }

  #swap(one: number, two: number): void {
    const item = this.#heap[one] as T
    this.#heap[one] = this.#heap[two] as T
    this.#heap[two] = item
  }
}
