/** Imports point one way: http -> app -> core -> engine -> base, and inside core and app down the list. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type SourceFile, sourceFiles } from './source-tree.ts'

/** From top to bottom; a file may import from its own line and the lines below. */
const LAYERS = [
  ['src/main.ts', 'src/command-line.ts'],
  ['src/processes/'],
  ['src/server.ts'],
  ['src/http/'],
  ['src/app/'],
  ['src/core/'],
  ['src/engine/'],
  ['src/version.ts'],
  ['src/base/'],
]

/** Folders of core, top to bottom. */
const CORE = [
  'replication',
  'operations',
  'view',
  'mango',
  'indexing',
  'design',
  'auth',
  'database',
  'sandbox',
  'document',
  'configuration',
  'tasks',
  'notices',
  'dialect',
]

const files = sourceFiles()

describe('imports', () => {
  it('point from upper to lower layers', () => {
    assert.deepEqual(violations(layerOf, 'layers'), [])
  })

  it('point down the list inside core', () => {
    assert.deepEqual(violations(coreRank, 'folders of core'), [])
  })

  it('of the two HTTP APIs and the kit keep apart', () => {
    const wrong = each((file, imported) => {
      const from = apiOf(file.path)
      const to = apiOf(imported)
      if (from === 'kit') return to === 'couch' || to === 'app' || imported.startsWith('src/core/')
      return from !== undefined && to !== undefined && to !== 'kit' && from !== to
    })
    assert.deepEqual(wrong, [])
  })

  it('of storage stay below the operations', () => {
    const wrong = each(
      (file, imported) =>
        file.path.startsWith('src/http/') &&
        (imported.startsWith('src/engine/') || imported.startsWith('src/core/database/')) &&
        !importsOnlyTypes(file, imported),
    )
    assert.deepEqual(wrong, [])
  })

  it('of the engine are of its port, or of what passes everything on to a port', () => {
    const ports = ['src/engine/engine.ts', 'src/engine/wrapped-engine.ts']
    const wrong = each(
      (file, imported) =>
        file.path.startsWith('src/core/') &&
        imported.startsWith('src/engine/') &&
        !ports.includes(imported),
    )
    assert.deepEqual(wrong, [])
  })

  it('of the network and the file system are where the house allows them', () => {
    const allowed: Record<string, readonly string[]> = {
      'node:http': ['src/http/kit/', 'src/core/replication/'],
      'node:https': ['src/http/kit/', 'src/core/replication/'],
      'node:cluster': ['src/processes/'],
      'node:fs': [
        'src/engine/embedded/',
        'src/processes/',
        'src/http/kit/static-files.ts',
        'src/main.ts',
        'src/base/log-sink.ts',
        'src/core/sandbox/',
        'src/base/collate/',
      ],
      'node:fs/promises': [
        'src/engine/embedded/',
        'src/processes/',
        'src/http/kit/static-files.ts',
      ],
      'node:child_process': ['src/core/sandbox/', 'src/processes/'],
      'node:vm': ['src/core/sandbox/program/'],
    }
    const wrong = each((file, imported) => {
      const places = allowed[imported]
      return places !== undefined && !places.some(place => file.path.startsWith(place))
    })
    assert.deepEqual(wrong, [])
  })

  it('make no circle', () => {
    assert.deepEqual(findCircles(), [])
  })
})

function each(isWrong: (file: SourceFile, imported: string) => boolean): string[] {
  return files.flatMap(file =>
    file.imports
      .filter(imported => isWrong(file, imported))
      .map(imported => `${file.path} -> ${imported}`),
  )
}

function violations(rankOf: (path: string) => number | undefined, what: string): string[] {
  return each((file, imported) => {
    const from = rankOf(file.path)
    const to = rankOf(imported)
    return from !== undefined && to !== undefined && to < from
  }).map(line => `${what}: ${line}`)
}

function layerOf(path: string): number | undefined {
  const rank = LAYERS.findIndex(names => names.some(name => path.startsWith(name)))
  return rank < 0 ? undefined : rank
}

function coreRank(path: string): number | undefined {
  const folder = /^src\/core\/([^/]+)\//.exec(path)?.[1]
  if (folder === undefined) return undefined
  const rank = CORE.indexOf(folder)
  assert.ok(rank >= 0, `src/core/${folder} has no place in the list of this test`)
  return rank
}

const apiOf = (path: string): string | undefined => /^src\/http\/([^/]+)\//.exec(path)?.[1]

function importsOnlyTypes(file: SourceFile, imported: string): boolean {
  const name = imported.slice(imported.lastIndexOf('/') + 1)
  const statements = file.text.match(/^import [^;]*?from '[^']+'/gms) ?? []
  return statements
    .filter(statement => statement.endsWith(`/${name}'`))
    .every(statement => statement.startsWith('import type'))
}

/** Files that import themselves through others; types count too. */
function findCircles(): string[] {
  const byPath = new Map(files.map(file => [file.path, file]))
  const done = new Set<string>()
  const circles: string[] = []
  const walk = (path: string, trail: string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) {
      circles.push([...trail.slice(at), path].join(' -> '))
      return
    }
    if (done.has(path)) return
    for (const next of byPath.get(path)?.imports ?? []) {
      if (byPath.has(next)) walk(next, [...trail, path])
    }
    done.add(path)
  }
  for (const file of files) walk(file.path, [])
  return circles
}
