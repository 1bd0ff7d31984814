/** Runs every promise of the engine port against every engine, bare and wrapped. */
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { IndexLeases } from '../../../src/core/indexing/index-leases.ts'
import { CheckedEngine } from '../../../src/engine/checked-engine.ts'
import { EmbeddedEngine } from '../../../src/engine/embedded/embedded-engine.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import { MemoryEngine } from '../../../src/engine/memory/memory-engine.ts'
import { MeteredEngine } from '../../../src/engine/metered-engine.ts'
import { PostgresEngine } from '../../../src/engine/postgres/postgres-engine.ts'
import { startPostgres } from '../../support/postgres.ts'
import { enginePromises } from './suite.ts'

type OpenOn = (folder: string) => Promise<Engine>

const postgres = await startPostgres()
after(() => postgres.stop())

/** A folder of the test stands for tables of its own. */
const openPostgres = (folder: string, connections: number): Promise<Engine> =>
  PostgresEngine.open({
    address: postgres.address({
      schema: path.basename(folder).toLowerCase().replaceAll('-', '_'),
      connections: String(connections),
    }),
  })

const engines: Readonly<Record<string, OpenOn>> = {
  memory: async () => new MemoryEngine(),
  embedded: folder => EmbeddedEngine.open({ folder }),
  'embedded with one open file': folder => EmbeddedEngine.open({ folder, openStoresMax: 1 }),
  'checked embedded': async folder => new CheckedEngine(await EmbeddedEngine.open({ folder })),
  'checked memory': async () => new CheckedEngine(new MemoryEngine()),
  'fenced memory': async () => new IndexLeases(new MemoryEngine()).engine,
  'metered memory': async () => new MeteredEngine(new MemoryEngine()),
  'metered checked embedded': async folder =>
    new MeteredEngine(new CheckedEngine(await EmbeddedEngine.open({ folder }))),
  postgres: folder => openPostgres(folder, 4),
  'postgres with one connection': folder => openPostgres(folder, 1),
  'checked postgres': async folder => new CheckedEngine(await openPostgres(folder, 4)),
}

for (const [name, openOn] of Object.entries(engines)) {
  describe(`engine: ${name}`, () => {
    for (const promise of enginePromises) {
      it(promise.name, async () => {
        const folder = await mkdtemp(path.join(os.tmpdir(), 'gurney-engine-'))
        try {
          await promise.check({ open: () => openOn(folder) })
        } finally {
          await rm(folder, { recursive: true, force: true })
        }
      })
    }
  })
}
