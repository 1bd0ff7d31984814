/**
 * Where log lines go: gathered and written to a file or to stderr without blocking anybody.
 *
 * Promises: lines are written in order, one write under way at a time, after `flushMs` or when
 * `flushBytes` are waiting; past `queueBytesMax` lines are dropped, and their number is told once there
 * is room; what waits when the process exits is written then. A disk that fails never fails a caller.
 */
import { closeSync, write as fsWrite, openSync, writeSync } from 'node:fs'
import type { LogSink } from './log.ts'

export interface SinkOptions {
  readonly flushBytes?: number
  readonly flushMs?: number
  readonly queueBytesMax?: number
}

const AGAIN_MS = 20
const STDERR = 2

export const openStderrSink = (options?: SinkOptions): BatchedSink =>
  new BatchedSink(STDERR, options)

/** Appends to the file; one that cannot be opened throws node's error. */
export const openFileSink = (path: string, options?: SinkOptions): BatchedSink =>
  new BatchedSink(openSync(path, 'a'), options)

export class BatchedSink implements LogSink {
  readonly #fd: number
  readonly #flushBytes: number
  readonly #flushMs: number
  readonly #queueBytesMax: number
  readonly #atExit = (): void => this.#writeNow()
  #lines: string[] = []
  #waitingBytes = 0
  #droppedCount = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #closed = false

  constructor(fd: number, options: SinkOptions = {}) {
    this.#fd = fd
    this.#flushBytes = options.flushBytes ?? 65_536
    this.#flushMs = options.flushMs ?? 200
    this.#queueBytesMax = options.queueBytesMax ?? 8_388_608
    process.on('exit', this.#atExit)
  }

  write(line: string): void {
    if (this.#closed || this.#waitingBytes + line.length > this.#queueBytesMax) {
      this.#droppedCount++
      return
    }
    this.#lines.push(line)
    this.#waitingBytes += line.length + 1
    if (this.#waitingBytes >= this.#flushBytes) this.#start()
    else this.#timer ??= setTimeout(() => this.#start(), this.#flushMs).unref()
  }

  /** Resolves when everything written so far was handed to the system. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined || this.#waitingBytes > 0) {
      this.#start()
      await this.#writing
    }
  }

  async close(): Promise<void> {
    await this.flush()
    this.#closed = true
    process.off('exit', this.#atExit)
    if (this.#fd !== STDERR) closeSync(this.#fd)
  }

  #start(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#writing !== undefined || this.#waitingBytes === 0) return
    this.#writing = this.#writeAll(this.#take()).finally(() => {
      this.#writing = undefined
      if (this.#waitingBytes >= this.#flushBytes) this.#start()
      else if (this.#waitingBytes > 0) {
        this.#timer ??= setTimeout(() => this.#start(), this.#flushMs).unref()
      }
    })
  }

  #take(): Buffer {
    if (this.#droppedCount > 0) {
      this.#lines.push(`[log] ${this.#droppedCount} lines were dropped: the log is too slow`)
      this.#droppedCount = 0
    }
    const text = `${this.#lines.join('\n')}\n`
    this.#lines = []
    this.#waitingBytes = 0
    return Buffer.from(text)
  }

  async #writeAll(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const count = await writeSome(this.#fd, bytes, at)
      if (count < 0) {
        // The disk is full or gone. The lines are lost; how many is told when it works again.
        this.#droppedCount += bytes.toString('latin1', at).split('\n').length - 1
        return
      }
      at += count
    }
  }

  #writeNow(): void {
    if (this.#closed || this.#waitingBytes === 0) return
    try {
      writeSync(this.#fd, this.#take())
    } catch {
      // the process is exiting and its log cannot be written: there is nowhere left to say so
    }
  }
}

/** How many bytes were taken: 0 when the pipe was full for a while, -1 when writing is impossible. */
function writeSome(fd: number, bytes: Buffer, at: number): Promise<number> {
  return new Promise(resolve => {
    fsWrite(fd, bytes, at, bytes.length - at, null, (error, count) => {
      if (error === null) resolve(count)
      else if (error.code === 'EAGAIN') setTimeout(() => resolve(0), AGAIN_MS)
      else resolve(-1)
    })
  })
}
