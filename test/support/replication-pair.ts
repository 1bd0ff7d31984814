/** Two servers that listen, and short ways to fill, replicate and compare their databases. */
import assert from 'node:assert/strict'
import { ADMIN, type Answer, startServer, type TestServer } from './start-server.ts'

export interface ReplicationServer {
  readonly server: TestServer
  readonly address: string
  /** A database's URL with the admin's login in it. */
  url(name: string): string
  ask(method: string, path: string, body?: unknown, user?: string | null): Promise<Answer>
  make(...names: string[]): Promise<void>
  replicate(body: object, user?: string): Promise<Answer>
  close(): Promise<void>
}

export async function startReplicationServer(
  options: Parameters<typeof startServer>[0] = {},
): Promise<ReplicationServer> {
  const server = await startServer({
    ...options,
    settings: {
      couchdb: { uuid: '0123456789abcdef0123456789abcdef' },
      svc_httpd_auth: { secret: 'for sessions' },
      ...options.settings,
    },
  })
  const address = await server.listen()
  const ask = (method: string, path: string, body?: unknown, user: string | null = ADMIN) =>
    server.ask(method, path, { user, ...(body === undefined ? {} : { body }) })
  return {
    server,
    address,
    url: name => `${address.replace('//', `//${ADMIN}@`)}/${name}`,
    ask,
    async make(...names) {
      for (const name of names) {
        const { status } = await ask('PUT', `/${name}`)
        assert.equal(status, 201)
      }
    },
    replicate: (body, user) => ask('POST', '/_replicate', body, user),
    close: () => server.close(),
  }
}

export interface Leaves {
  readonly [id: string]: readonly unknown[]
}

/** Everything that replication must make equal: every leaf of every document, with its attachments. */
export async function contentsOf(server: ReplicationServer, name: string): Promise<Leaves> {
  const changes = await server.ask('GET', `/${name}/_changes?style=all_docs`)
  const { results } = changes.json as { results: { id: string }[] }
  const contents: Record<string, readonly unknown[]> = {}
  for (const { id } of results) {
    const path = id.startsWith('_design/') ? id : encodeURIComponent(id)
    const query = 'open_revs=all&revs=true&attachments=true'
    const { json } = await server.ask('GET', `/${name}/${path}?${query}`)
    contents[id] = json as unknown[]
  }
  return Object.fromEntries(Object.entries(contents).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Asks again until it holds, or a long time has passed. */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  timeoutMs = 15_000,
): Promise<void> {
  const end = Date.now() + timeoutMs
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`it never came true that ${what}`)
    await new Promise(resolve => setTimeout(resolve, 25))
  }
}
