/** A real server for clients from npm, over a folder that is gone afterwards. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningServer, startProcess } from '../support/start-process.ts'

export interface OutsideServer {
  readonly server: RunningServer
  /** The address of a database, with the admin's credentials. */
  url(database: string): string
  close(): Promise<void>
}

export async function startOutside(dialect: 'spec' | 'couchdb' = 'spec'): Promise<OutsideServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gurney-outside-'))
  // Few rounds of password hashing: these tests are not about it.
  writeFileSync(join(folder, 'local.ini'), '[svc_httpd_auth]\niterations = 10\n')
  const flags = ['--admin', 'admin:pass', '--workers', '2', '--dialect', dialect]
  const server = await startProcess(folder, flags)
  return {
    server,
    url: database => `${server.url('admin:pass')}/${database}`,
    async close() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
