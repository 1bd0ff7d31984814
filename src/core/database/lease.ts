/**
 * Who does a thing that only one process of all nodes may do at a time: it is written under a key of the store that the
 * thing is about, renewed while the work goes on, and taken away at its end.
 *
 * No clock of another machine is believed. Whoever waits watches the record: one that stays the same for as long as it
 * says it lasts has lost its owner. The owner counts from before its last renewal, so it knows first that it lost. To be
 * safe against an owner that slept through all of this, its writes check the record in their own transaction (`fence`).
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '../../base/errors.ts'
import type { Key, ReadTx, Steps, Store } from '../../engine/engine.ts'

export interface LeasePlace {
  readonly store: Store
  readonly key: Key
}

export interface LeaseOptions {
  readonly durationMs?: number
  readonly signal: AbortSignal
  /** Asked now and then while somebody else has it; true: it is not needed any more. */
  readonly isDone?: () => Promise<boolean>
  /** It is not needed either when whoever has it is seen to live. */
  readonly onlyFromDead?: boolean
}

interface LeaseRecord {
  readonly owner: string
  readonly renewal: number
  readonly durationMs: number
}

const DURATION_MS = 10_000
const LOOK_MS_MIN = 25
const LOOK_MS_MAX = 500

/** Undefined when it is not needed any more. Fails with `engine_closed` when the signal says so. */
export async function acquireLease(
  place: LeasePlace,
  options: LeaseOptions,
): Promise<Lease | undefined> {
  const owner = randomBytes(8).toString('hex')
  const durationMs = options.durationMs ?? DURATION_MS
  const watch = new LeaseWatch()
  for (let lookMs = LOOK_MS_MIN; ; lookMs = Math.min(LOOK_MS_MAX, lookMs * 2)) {
    if (options.signal.aborted) throw new Failure('engine_closed')
    const startMs = performance.now()
    const held = await claim(place, { owner, renewal: 0, durationMs }, watch.deadText)
    if (held === undefined) return new Lease(place, owner, durationMs, startMs)
    watch.look(held)
    if (options.onlyFromDead === true && watch.isAlive) return undefined
    if ((await options.isDone?.()) === true) return undefined
    // Ending early is told by the signal, above.
    await delay(lookMs, undefined, { signal: options.signal }).catch(() => {})
  }
}

export class Lease {
  readonly owner: string
  readonly #place: LeasePlace
  readonly #durationMs: number
  readonly #timer: NodeJS.Timeout
  #renewedMs: number
  #renewal = 0
  #isLost = false
  onLost: (() => void) | undefined

  constructor(place: LeasePlace, owner: string, durationMs: number, startMs: number) {
    this.#place = place
    this.owner = owner
    this.#durationMs = durationMs
    this.#renewedMs = startMs
    this.#timer = setInterval(() => void this.#renew(), durationMs / 4)
    this.#timer.unref()
  }

  get isLost(): boolean {
    return this.#isLost || performance.now() - this.#renewedMs > this.#durationMs
  }

  /** To be run in every transaction that relies on the lease. */
  *fence(tx: ReadTx): Steps<void> {
    const bytes = yield* tx.get(this.#place.key)
    if (bytes !== undefined && decode(bytes).owner === this.owner) return
    throw new Failure('engine_busy', { reason: 'Somebody else does this by now' })
  }

  async release(): Promise<void> {
    clearInterval(this.#timer)
    const { key, store } = this.#place
    const { owner } = this
    try {
      await store.write(function* (tx) {
        const bytes = yield* tx.get(key)
        if (bytes !== undefined && decode(bytes).owner === owner) tx.delete(key)
      })
    } catch {
      // It runs out by itself; whoever comes next waits for that.
    }
  }

  async #renew(): Promise<void> {
    const startMs = performance.now()
    const { key, store } = this.#place
    const { owner } = this
    const record = { owner, renewal: ++this.#renewal, durationMs: this.#durationMs }
    try {
      const isOurs = await store.write(function* (tx) {
        const bytes = yield* tx.get(key)
        if (bytes === undefined || decode(bytes).owner !== owner) return false
        tx.put(key, encode(record))
        return true
      })
      if (isOurs) this.#renewedMs = startMs
      else this.#lose()
    } catch {
      // The store is away; the time that is left decides.
      if (this.isLost) this.#lose()
    }
  }

  #lose(): void {
    if (this.#isLost) return
    this.#isLost = true
    clearInterval(this.#timer)
    this.onLost?.()
  }
}

/** What can be told about an owner by looking at its record again and again. */
export class LeaseWatch {
  #seen: { readonly text: string; readonly sinceMs: number } | undefined
  #isAlive = false

  look(text: string): void {
    if (text === this.#seen?.text) return
    this.#isAlive = this.#seen !== undefined
    this.#seen = { text, sinceMs: performance.now() }
  }

  /** Somebody wrote between two looks. */
  get isAlive(): boolean {
    return this.#isAlive
  }

  /** The record seen last, when it has stayed the same for so long that its owner must have lost it. */
  get deadText(): string | undefined {
    if (this.#seen === undefined) return undefined
    const { text, sinceMs } = this.#seen
    const { durationMs = DURATION_MS } = decode(Buffer.from(text))
    return performance.now() - sinceMs > durationMs ? text : undefined
  }
}

/** Undefined: it is ours. Else what is written there. */
function claim(
  { store, key }: LeasePlace,
  record: LeaseRecord,
  deadText: string | undefined,
): Promise<string | undefined> {
  return store.write(function* (tx) {
    const text = (yield* tx.get(key))?.toString()
    if (text !== undefined && text !== deadText) return text
    tx.put(key, encode(record))
    return undefined
  })
}

const encode = (record: LeaseRecord): Buffer => Buffer.from(JSON.stringify(record))
const decode = (bytes: Buffer): Partial<LeaseRecord> =>
  JSON.parse(bytes.toString()) as Partial<LeaseRecord>
