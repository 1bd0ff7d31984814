/**
 * What a work yields when it wants something of the store, and the driver that answers. A work is a generator; between two
 * of its steps lies a round trip.
 */
import type { BatchOptions, Entry, Key, Range, ReadTx, Steps } from '../engine.ts'
import { isEmptyRange } from '../key-order.ts'

export type Wish =
  | { readonly kind: 'get'; readonly keys: readonly Key[] }
  | { readonly kind: 'scan'; readonly range: Range; readonly options: BatchOptions }

export interface Answerer {
  get(keys: readonly Key[]): Promise<(Buffer | undefined)[]>
  scan(range: Range, options: BatchOptions): Promise<Entry[]>
}

export class WishingTx implements ReadTx {
  *get(key: Key): Steps<Buffer | undefined> {
    const [value] = (yield { kind: 'get', keys: [key] } satisfies Wish) as (Buffer | undefined)[]
    return value
  }

  *getMany(keys: readonly Key[]): Steps<(Buffer | undefined)[]> {
    if (keys.length === 0) return []
    return (yield { kind: 'get', keys } satisfies Wish) as (Buffer | undefined)[]
  }

  *scan(range: Range, options: BatchOptions): Steps<Entry[]> {
    if (options.limit === 0 || isEmptyRange(range)) return []
    return (yield { kind: 'scan', range, options } satisfies Wish) as Entry[]
  }
}

export async function drive<T>(steps: Steps<T>, answerer: Answerer): Promise<T> {
  let step = steps.next()
  while (step.done !== true) {
    let answer: unknown
    try {
      answer = await grant(step.value as Wish, answerer)
    } catch (thrown) {
      // The work is told nothing: it may run again, or its caller hears of it.
      steps.return(undefined as T)
      throw thrown
    }
    step = steps.next(answer)
  }
  return step.value
}

const grant = (wish: Wish, answerer: Answerer): Promise<unknown> =>
  wish.kind === 'get' ? answerer.get(wish.keys) : answerer.scan(wish.range, wish.options)

/** What a work itself threw, apart from what happened to its transaction. */
export class WorkThrew extends Error {
  override readonly name = 'WorkThrew'
}

export function* guarded<T, Tx>(work: (tx: Tx) => Steps<T>, tx: Tx): Steps<T> {
  try {
    return yield* work(tx)
  } catch (thrown) {
    throw new WorkThrew('', { cause: thrown })
  }
}
