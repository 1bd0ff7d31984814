/** The source tree as the tidy tests see it: files, their lines and their imports, read as text. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

export interface SourceFile {
  /** From the root of the repository, with slashes. */
  readonly path: string
  readonly text: string
  readonly lines: readonly string[]
  /** Paths of ours, and names of packages, as they are imported (types too). */
  readonly imports: readonly string[]
}

export function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap(entry => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return filesBelow(path, ending)
    return entry.name.endsWith(ending) ? [path] : []
  })
}

export function sourceFiles(folder = 'src'): SourceFile[] {
  return filesBelow(folder, '.ts').map(path => {
    const text = readFileSync(join(ROOT, path), 'utf8')
    return { path, text, lines: text.split('\n'), imports: importsOf(path, text) }
  })
}

const IMPORT =
  /^(?:import|export)\s[^'"]*?from\s+['"]([^'"]+)['"]|^import\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm

function importsOf(path: string, text: string): string[] {
  return [...text.matchAll(IMPORT)].map(match => {
    const name = (match[1] ?? match[2] ?? match[3]) as string
    if (!name.startsWith('.')) return name
    return relative(ROOT, resolve(ROOT, dirname(path), name))
  })
}
