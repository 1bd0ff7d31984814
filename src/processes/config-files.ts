/**
 * The ini files: `etc/default.ini` of the package, then `local.ini` in the data folder, which the server itself
 * edits. A change is on disk (written beside, synced, renamed) before it is acknowledged, so a crash leaves the
 * old or the new file, never half of one.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure } from '../base/errors.ts'
import { getOrAdd } from '../base/get-or-add.ts'
import { type IniSections, parseIni, setIniValue } from '../base/ini.ts'
import { canonicalSection } from '../base/product-names.ts'
import type { ConfigurationChange } from '../core/configuration/configuration.ts'

export class ConfigFiles {
  readonly #defaults: string
  readonly #local: string

  constructor(paths: { defaults: string; local: string }) {
    this.#defaults = paths.defaults
    this.#local = paths.local
  }

  /** Later files win, value by value. */
  load(): IniSections {
    return merge([this.#read(this.#defaults), this.#read(this.#local)])
  }

  loadDefaults(): IniSections {
    return merge([this.#read(this.#defaults)])
  }

  loadLocal(): IniSections {
    return merge([this.#read(this.#local)])
  }

  save({ section, key, value }: ConfigurationChange): void {
    const text = this.#read(this.#local)
    const written = sectionNameIn(text, section)
    const next = setIniValue(text, { section: written, key }, value)
    if (next !== text) replaceFile(this.#local, next)
  }

  #read(path: string): string {
    try {
      return readFileSync(path, 'utf8')
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return ''
      throw new Failure(
        'storage_unwritable',
        { subject: path, reason: `cannot read ${path}` },
        thrown,
      )
    }
  }
}

function merge(texts: readonly string[]): IniSections {
  const merged: IniSections = new Map()
  for (const text of texts) {
    for (const [section, values] of parseIni(text)) {
      const name = canonicalSection(section)
      const target = getOrAdd(merged, name, () => new Map<string, string>())
      for (const [key, value] of values) target.set(key, value)
    }
  }
  return merged
}

/** The operator may have written the section under another of its names: keep to that one. */
function sectionNameIn(text: string, section: string): string {
  const wanted = canonicalSection(section)
  for (const name of parseIni(text).keys()) if (canonicalSection(name) === wanted) return name
  return wanted
}

function replaceFile(path: string, text: string): void {
  const beside = `${path}.new`
  try {
    const file = openSync(beside, 'w', 0o600)
    writeSync(file, text)
    fsyncSync(file)
    closeSync(file)
    renameSync(beside, path)
    const folder = openSync(dirname(join(path)), 'r')
    fsyncSync(folder)
    closeSync(folder)
  } catch (thrown) {
    const full = (thrown as NodeJS.ErrnoException).code === 'ENOSPC'
    throw new Failure(
      full ? 'storage_full' : 'storage_unwritable',
      { subject: path, reason: `cannot write ${path}` },
      thrown,
    )
  }
}
