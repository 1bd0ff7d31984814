/**
 * One connection to the server. `pg` connects it (encryption, passwords, sockets); from then on we speak the protocol
 * ourselves: several prepared statements travel together and their results come back together, in binary. `pg` sends one
 * statement at a time and makes text of every byte.
 *
 * Statements of one `run` are one round trip; if one fails, those behind it are not run, and outside of a transaction
 * the whole of it is one. A connection that failed in any other way than by a statement is `lost` for good.
 */
import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import pg from 'pg'
import { assert } from '../../base/assert.ts'
import { ConnectionLost, ServerError } from './postgres-errors.ts'
import {
  MessageCutter,
  prepareMessage,
  readFields,
  readNotification,
  readRow,
  runMessages,
  SYNC,
} from './wire-format.ts'

export interface Statement {
  /** The name it is prepared under, once for each connection; empty: for this time only. */
  readonly name: string
  readonly text: string
}

export interface Call {
  readonly statement: Statement
  readonly parameters: readonly Uint8Array[]
}

export type Row = readonly (Buffer | undefined)[]

export interface Result {
  readonly rows: readonly Row[]
  /** What the server says it did: `COMMIT`, `INSERT 0 1`. */
  readonly tag: string
}

const CONNECT_MS = 5000
const ANSWER_MS = 30_000
/** Pieces below are put together for one write. */
const JOINED_BYTES_MAX = 64 * 1024

interface Running {
  readonly names: readonly string[]
  readonly results: Result[]
  rows: Row[]
  failed: ServerError | undefined
  readonly resolve: (results: Result[]) => void
  readonly reject: (thrown: unknown) => void
  readonly timer: NodeJS.Timeout
}

export class Connection {
  /** Tells this connection from all others, also those of other processes and times. */
  readonly id = randomBytes(12)
  readonly #client: pg.Client
  readonly #socket: Duplex
  readonly #prepared = new Set<string>()
  #running: Running | undefined
  #lost: ConnectionLost | undefined
  onNotification: ((channel: string, payload: string) => void) | undefined
  onLost: (() => void) | undefined

  static async open(connectionString: string): Promise<Connection> {
    const client = new pg.Client({
      connectionString,
      application_name: 'gurney',
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    })
    // Errors of a connection on its way reject `connect`; later ones are for `#lose`.
    client.on('error', () => {})
    await client.connect()
    return new Connection(client)
  }

  private constructor(client: pg.Client) {
    this.#client = client
    this.#socket = (client as unknown as { connection: { stream: Duplex } }).connection.stream
    this.#socket.removeAllListeners('data')
    const cutter = new MessageCutter((type, body) => this.#receive(type, body))
    this.#socket.on('data', (chunk: Buffer) => {
      try {
        cutter.feed(chunk)
      } catch (thrown) {
        this.#lose(String(thrown))
      }
    })
    this.#socket.on('error', error => this.#lose(error.message))
    this.#socket.on('close', () => this.#lose('the connection was closed'))
  }

  get isLost(): boolean {
    return this.#lost !== undefined
  }

  run(calls: readonly Call[], timeoutMs = ANSWER_MS): Promise<Result[]> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost)
    assert(this.#running === undefined, 'a connection runs one thing at a time')
    return new Promise((resolve, reject) => {
      const names: string[] = []
      const pieces: Uint8Array[] = []
      for (const { statement, parameters } of calls) {
        const isKnown = this.#prepared.has(statement.name) || names.includes(statement.name)
        if (!isKnown) pieces.push(prepareMessage(statement.name, statement.text))
        if (!isKnown && statement.name !== '') names.push(statement.name)
        pieces.push(...runMessages(statement.name, parameters))
      }
      pieces.push(SYNC)
      const timer = setTimeout(() => this.#lose(`no answer for ${timeoutMs} ms`), timeoutMs)
      this.#running = { names, results: [], rows: [], failed: undefined, resolve, reject, timer }
      this.#write(pieces)
    })
  }

  /** Says goodbye; nothing may be running. */
  close(): void {
    if (this.#lost !== undefined) return
    this.#lost = new ConnectionLost('closed')
    // Whatever goes wrong with a goodbye, the socket is gone.
    this.#client.end().catch(() => {})
  }

  /** Lets go of it at once. */
  destroy(): void {
    this.#lose('given up')
  }

  #write(pieces: readonly Uint8Array[]): void {
    let bytes = 0
    for (const piece of pieces) bytes += piece.length
    if (bytes <= JOINED_BYTES_MAX) {
      this.#socket.write(Buffer.concat(pieces, bytes))
      return
    }
    this.#socket.cork()
    for (const piece of pieces) this.#socket.write(piece)
    this.#socket.uncork()
  }

  #receive(type: number, body: Buffer): void {
    if (type === NOTIFICATION) {
      const { channel, payload } = readNotification(body)
      this.onNotification?.(channel, payload)
      return
    }
    const running = this.#running
    if (type === ERROR) {
      const fields = readFields(body)
      const error = new ServerError(
        fields.get('C') ?? 'XX000',
        fields.get('M') ?? 'no reason given',
      )
      if (running === undefined) this.#lose(error.message)
      else running.failed ??= error
      return
    }
    if (running === undefined) return
    if (type === DATA_ROW) running.rows.push(readRow(body))
    else if (type === COMMAND_COMPLETE) {
      running.results.push({ rows: running.rows, tag: body.toString('latin1', 0, body.length - 1) })
      running.rows = []
    } else if (type === READY) this.#finish(running)
  }

  #finish(running: Running): void {
    clearTimeout(running.timer)
    this.#running = undefined
    if (running.failed !== undefined) {
      running.reject(running.failed)
      // Which of the new statements were prepared before the failure is not known: none counts, each is made anew.
      if (running.names.length > 0) this.close()
      return
    }
    for (const name of running.names) this.#prepared.add(name)
    running.resolve(running.results)
  }

  #lose(why: string): void {
    if (this.#lost === undefined || this.#running !== undefined) {
      this.#lost ??= new ConnectionLost(why)
      const running = this.#running
      this.#running = undefined
      if (running !== undefined) {
        clearTimeout(running.timer)
        // What the server said before it hung up is the better reason.
        running.reject(running.failed ?? this.#lost)
      }
      this.onLost?.()
    }
    this.#socket.destroy()
  }
}

const DATA_ROW = 0x44
const COMMAND_COMPLETE = 0x43
const READY = 0x5a
const ERROR = 0x45
const NOTIFICATION = 0x41
