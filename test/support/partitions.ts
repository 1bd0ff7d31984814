/** What tests of partitioned databases share: a server with shorthands, and two partitions of fifty documents. */
import assert from 'node:assert/strict'
import { type AskOptions, startServer, type TestServer } from './start-server.ts'

export interface Row {
  readonly id: string
  readonly key: unknown
  readonly value: unknown
  readonly error?: string
}

export interface Rows {
  readonly total_rows?: number
  readonly offset?: number
  readonly rows: readonly Row[]
}

export const NOT_PARTITIONED = { error: 'bad_request', reason: 'database is not partitioned' }

/** Emits the `value` of documents that have `some`. */
export const BY_VALUE = { map: 'function (doc) { if (doc.some) emit(doc.value, doc.some) }' }

export const idsOf = ({ rows }: Rows): string[] => rows.map(({ id }) => id)

export class PartitionServer {
  readonly server: TestServer

  private constructor(server: TestServer) {
    this.server = server
  }

  static async start(): Promise<PartitionServer> {
    return new PartitionServer(await startServer())
  }

  close(): Promise<void> {
    return this.server.close()
  }

  async make(name: string, partitioned = true): Promise<void> {
    await this.ok('PUT', `/${name}?partitioned=${partitioned}`)
  }

  async ok<T>(method: string, path: string, options: AskOptions = {}): Promise<T> {
    const answer = await this.server.ask(method, path, options)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.json as T
  }

  put(path: string, body: unknown): Promise<{ rev: string }> {
    return this.ok('PUT', path, { body })
  }

  post<T>(path: string, body: unknown): Promise<T> {
    return this.ok('POST', path, { body })
  }

  /** Status and body of an answer, mostly a refusal. */
  async answer(
    method: string,
    path: string,
    options: AskOptions = {},
  ): Promise<{ status: number; json: unknown }> {
    const { status, json } = await this.server.ask(method, path, options)
    return { status, json }
  }

  /** A hundred documents: the even numbers in `foo`, the odd ones in `bar`. */
  async fill(name: string, others: readonly unknown[] = []): Promise<void> {
    const docs = Array.from({ length: 100 }, (_, at) => at + 1).map(n => ({
      _id: `${n % 2 === 0 ? 'foo' : 'bar'}:${n}`,
      value: n,
      some: 'field',
      group: n % 3 === 0 ? 'one' : 'two',
    }))
    const results = await this.post<{ ok?: boolean }[]>(`/${name}/_bulk_docs`, {
      docs: [...docs, ...others],
    })
    assert.ok(results.every(result => result.ok === true))
  }
}
