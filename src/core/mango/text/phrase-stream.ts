/** Documents in which terms stand one after the other, or at most so many places away from that. */
import { AllOf, afterId, type DocStream } from './doc-stream.ts'
import type { KeyStream } from './key-stream.ts'

export interface PhraseTerm {
  readonly stream: KeyStream
  /** Its place in the phrase. */
  readonly offset: number
}

export class PhraseStream implements DocStream {
  readonly #terms: readonly PhraseTerm[]
  readonly #all: AllOf
  readonly #slop: number
  readonly #weigh: (length: number, frequency: number) => number
  #frequency = 0

  constructor(
    terms: readonly PhraseTerm[],
    slop: number,
    weigh: (length: number, frequency: number) => number,
  ) {
    this.#terms = terms
    this.#all = new AllOf(terms.map(({ stream }) => stream))
    this.#slop = slop
    this.#weigh = weigh
  }

  get id(): string | undefined {
    return this.#all.id
  }

  async seek(id: string): Promise<void> {
    let wanted = id
    for (;;) {
      await this.#all.seek(wanted)
      if (this.#all.id === undefined) return
      this.#frequency = this.#count()
      if (this.#frequency > 0) return
      wanted = afterId(this.#all.id)
    }
  }

  score(): number {
    const [first] = this.#terms
    const [length = 0] = first?.stream.value() ?? []
    return this.#weigh(length, this.#frequency)
  }

  /** How often the phrase begins somewhere. */
  #count(): number {
    const starts = this.#terms.map(({ stream, offset }) =>
      stream
        .value()
        .slice(1)
        .map(position => position - offset),
    )
    const [first = [], ...others] = starts
    return first.filter(start => this.#distance(start, others) <= this.#slop).length
  }

  #distance(start: number, others: readonly (readonly number[])[]): number {
    let sum = 0
    for (const other of others) {
      let nearest = Number.POSITIVE_INFINITY
      for (const place of other) nearest = Math.min(nearest, Math.abs(place - start))
      sum += nearest
    }
    return sum
  }
}
