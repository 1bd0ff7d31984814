/**
 * Messages between nodes by LISTEN and NOTIFY, where the server has them and `listen=off` is not in the address. The
 * connection that listens is one of its own; it is made anew when it is lost. A server that refuses LISTEN is not asked
 * again: then polling is all there is.
 */
import type { StoreId } from '../engine.ts'
import type { Ears, Listening, Peers } from '../peers.ts'
import { Connection } from './connection.ts'
import type { PostgresEngine } from './postgres-engine.ts'
import { ServerError } from './postgres-errors.ts'

const RETRY_MS = 1000
/** A connection that is silent for so long is asked whether it still lives. */
const PROBE_MS = 15_000
const PROBE_ANSWER_MS = 5000

export class PostgresPeers implements Peers {
  readonly #engine: PostgresEngine
  readonly #channel: string
  #isRefused: boolean

  constructor(engine: PostgresEngine) {
    this.#engine = engine
    this.#channel = `gurney_${engine.address.schema}`
    this.#isRefused = !engine.address.mayListen
  }

  versions(): Promise<[id: StoreId, version: bigint][]> {
    return this.#engine.versions()
  }

  async say(message: string): Promise<void> {
    if (!this.#isRefused) await this.#engine.say(this.#channel, message)
  }

  listen(ears: Ears): Listening {
    const ear = new Ear(this.#engine.address.connectionString, this.#channel, ears, () => {
      this.#isRefused = true
    })
    if (!this.#isRefused) ear.open()
    return ear
  }
}

class Ear implements Listening {
  readonly #address: string
  readonly #channel: string
  readonly #ears: Ears
  readonly #onRefused: () => void
  #connection: Connection | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(address: string, channel: string, ears: Ears, onRefused: () => void) {
    this.#address = address
    this.#channel = channel
    this.#ears = ears
    this.#onRefused = onRefused
  }

  get isOn(): boolean {
    return this.#connection !== undefined
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#connection?.close()
    this.#connection = undefined
  }

  open(): void {
    void this.#open().catch(thrown => {
      if (thrown instanceof ServerError) this.#onRefused()
      else this.#later()
    })
  }

  async #open(): Promise<void> {
    const connection = await Connection.open(this.#address)
    connection.onNotification = (_, payload) => this.#ears.hear(payload)
    try {
      await connection.run([
        { statement: { name: '', text: `LISTEN "${this.#channel}"` }, parameters: [] },
      ])
    } catch (thrown) {
      connection.close()
      throw thrown
    }
    if (this.#isClosed) {
      connection.close()
      return
    }
    this.#connection = connection
    connection.onLost = () => this.#lost()
    this.#probeLater()
    this.#ears.miss()
  }

  #lost(): void {
    this.#connection = undefined
    clearTimeout(this.#timer)
    if (!this.#isClosed) this.#later()
  }

  #later(): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => this.open(), RETRY_MS)
    this.#timer.unref()
  }

  /** A connection that was cut without a word is noticed only by asking. */
  #probeLater(): void {
    this.#timer = setTimeout(() => {
      const statement = { name: 'probe', text: 'SELECT 1' }
      this.#connection?.run([{ statement, parameters: [] }], PROBE_ANSWER_MS).then(
        () => this.#probeLater(),
        () => this.#connection?.destroy(),
      )
    }, PROBE_MS)
    this.#timer.unref()
  }
}
