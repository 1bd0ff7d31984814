/**
 * Streams of documents in the order of their ids, each with a score: what queries over a text index are made of. Streams
 * are joined like sets; nothing is collected, so an answer costs no memory however many documents it has.
 *
 * Ids are compared as bytes, held as latin1 text of their UTF-8. Steps are synchronous while rows are at hand and a
 * promise when more must be read.
 */

export interface DocStream {
  /** The document the stream stands at; undefined at its end. Set once `seek` was called. */
  readonly id: string | undefined
  /** Goes to the first document at or after `id`, never backward. */
  seek(id: string): undefined | Promise<void>
  /** Of the document it stands at. */
  score(): number
}

/** The first id after this one. */
export const afterId = (id: string): string => `${id}\0`
export const idKey = (id: string): string => Buffer.from(id).toString('latin1')
export const idOfKey = (key: string): string => Buffer.from(key, 'latin1').toString()

/** Ids that are at hand already, in order. */
export class ListStream implements DocStream {
  readonly #ids: readonly string[]
  #at = 0

  constructor(sortedIds: readonly string[]) {
    this.#ids = sortedIds
  }

  get id(): string | undefined {
    return this.#ids[this.#at]
  }

  seek(id: string): undefined {
    let low = this.#at
    let high = this.#ids.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#ids[middle] as string) < id) low = middle + 1
      else high = middle
    }
    this.#at = low
  }

  score(): number {
    return 0
  }
}

/** Documents that are in all streams. */
export class AllOf implements DocStream {
  readonly #streams: readonly DocStream[]
  id: string | undefined

  constructor(streams: readonly DocStream[]) {
    this.#streams = streams
  }

  async seek(id: string): Promise<void> {
    let wanted: string | undefined = id
    for (let agreed = 0; wanted !== undefined && agreed < this.#streams.length; ) {
      const target: string = wanted
      agreed = 0
      for (const stream of this.#streams) {
        const step = stream.seek(wanted as string)
        if (step !== undefined) await step
        if (stream.id === target) agreed++
        else {
          wanted = stream.id
          break
        }
      }
    }
    this.id = wanted
  }

  score(): number {
    return this.#streams.reduce((sum, stream) => sum + stream.score(), 0)
  }
}

/** Documents that are in one of the streams at least. */
export class AnyOf implements DocStream {
  readonly #streams: readonly DocStream[]
  id: string | undefined

  constructor(streams: readonly DocStream[]) {
    this.#streams = streams
  }

  async seek(id: string): Promise<void> {
    let least: string | undefined
    for (const stream of this.#streams) {
      if (stream.id === undefined && this.id !== undefined) continue
      const step = stream.seek(id)
      if (step !== undefined) await step
      if (stream.id !== undefined && (least === undefined || stream.id < least)) least = stream.id
    }
    this.id = least
  }

  score(): number {
    let sum = 0
    for (const stream of this.#streams) if (stream.id === this.id) sum += stream.score()
    return sum
  }
}

/** Documents of a stream that are not in another; optional streams add to the score only. */
export class Refined implements DocStream {
  readonly #base: DocStream
  readonly #never: readonly DocStream[]
  readonly #optional: readonly DocStream[]
  id: string | undefined

  constructor(base: DocStream, never: readonly DocStream[], optional: readonly DocStream[]) {
    this.#base = base
    this.#never = never
    this.#optional = optional
  }

  async seek(id: string): Promise<void> {
    let wanted = id
    for (;;) {
      const step = this.#base.seek(wanted)
      if (step !== undefined) await step
      this.id = this.#base.id
      if (this.id === undefined) return
      if (!(await this.#isRefused(this.id))) break
      wanted = afterId(this.id)
    }
    for (const stream of this.#optional) {
      const step = stream.seek(this.id)
      if (step !== undefined) await step
    }
  }

  async #isRefused(id: string): Promise<boolean> {
    for (const stream of this.#never) {
      const step = stream.seek(id)
      if (step !== undefined) await step
      if (stream.id === id) return true
    }
    return false
  }

  score(): number {
    let sum = this.#base.score()
    for (const stream of this.#optional) if (stream.id === this.id) sum += stream.score()
    return sum
  }
}

/** The same documents, scored otherwise. */
export class Scored implements DocStream {
  readonly #stream: DocStream
  readonly #score: (score: number) => number

  constructor(stream: DocStream, score: (score: number) => number) {
    this.#stream = stream
    this.#score = score
  }

  get id(): string | undefined {
    return this.#stream.id
  }

  seek(id: string): undefined | Promise<void> {
    return this.#stream.seek(id)
  }

  score(): number {
    return this.#score(this.#stream.score())
  }
}

export const NO_DOCUMENTS: DocStream = new ListStream([])
