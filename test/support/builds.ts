/** A builds server over a folder of its own, and builds to put into it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BuildsServer, startBuilds } from '../../src/processes/builds-server.ts'

export interface TestBuild {
  readonly version: string
  /** File name -> design documents. */
  readonly files: Readonly<Record<string, readonly object[]>>
  readonly buildInfo?: object
}

export interface TestBuilds extends BuildsServer {}

export async function startTestBuilds(...builds: readonly TestBuild[]): Promise<TestBuilds> {
  const folder = mkdtempSync(join(tmpdir(), 'gurney-builds-'))
  for (const { version, files, buildInfo } of builds) {
    const designs = join(folder, version, 'ddocs')
    mkdirSync(designs, { recursive: true })
    for (const [name, docs] of Object.entries(files)) {
      writeFileSync(join(designs, name), JSON.stringify({ docs }))
    }
    if (buildInfo !== undefined) {
      const text = JSON.stringify({ build_info: buildInfo })
      writeFileSync(join(folder, version, 'build.json'), text)
    }
  }
  const server = await startBuilds({ folder, port: 0, host: '127.0.0.1' })
  return {
    ...server,
    async close() {
      await server.close()
      rmSync(folder, { recursive: true })
    },
  }
}

export const mapBy = (expression: string): { map: string } => ({
  map: `function (doc) { if (doc.type === 'thing') emit(${expression}, 1) }`,
})
