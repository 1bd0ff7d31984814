/**
 * The configuration as every process sees it: what the ini files say, and what was set since.
 *
 * Reading is cheap (a parsed value is kept until something changes), so code asks at the moment of use and a
 * change takes effect at once, without a restart. Changing goes through `ConfigurationWriter`: one process owns
 * the file, and tells all others before the change is acknowledged.
 */
import { Failure } from '../../base/errors.ts'
import { getOrAdd } from '../../base/get-or-add.ts'
import type { IniSections } from '../../base/ini.ts'
import { canonicalSection } from '../../base/product-names.ts'
import type { Setting } from './setting-kinds.ts'
import { SETTINGS } from './settings.ts'

export class Configuration {
  #sections: Map<string, Map<string, string>> = new Map()
  #parsed = new Map<Setting<unknown>, unknown>()
  #listeners = new Set<() => void>()

  constructor(sections: IniSections = new Map()) {
    this.replace(sections)
  }

  /** The value of a known setting. */
  get<T>(setting: Setting<T>): T {
    if (this.#parsed.has(setting)) return this.#parsed.get(setting) as T
    const text = this.#lookUp(setting.section, setting.key)
    const value = text === undefined ? undefined : setting.parse(text)
    const result = value === undefined ? setting.default : value
    this.#parsed.set(setting, result)
    return result
  }

  /** The text of any value, known or not. */
  text(section: string, key: string): string | undefined {
    return this.#sections.get(canonicalSection(section))?.get(key)
  }

  section(name: string): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#sections.get(canonicalSection(name)) ?? [])
  }

  /** True when the section has at least one value. */
  hasSection(name: string): boolean {
    return this.#sections.has(canonicalSection(name))
  }

  sections(): Readonly<Record<string, Readonly<Record<string, string>>>> {
    const names = [...this.#sections.keys()].sort()
    return Object.fromEntries(names.map(name => [name, this.section(name)]))
  }

  replace(sections: IniSections): void {
    this.#sections = new Map()
    for (const [section, values] of sections) {
      for (const [key, value] of values) this.#put(section, key, value)
    }
    this.#changed()
  }

  /** The same values, without listeners: to try a change on. */
  copy(): Configuration {
    return new Configuration(this.#sections)
  }

  apply(change: ConfigurationChange): void {
    if (change.value === undefined) {
      const name = canonicalSection(change.section)
      const values = this.#sections.get(name)
      values?.delete(change.key)
      if (values?.size === 0) this.#sections.delete(name)
    } else this.#put(change.section, change.key, change.value)
    this.#changed()
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #put(section: string, key: string, value: string): void {
    const name = canonicalSection(section)
    getOrAdd(this.#sections, name, () => new Map<string, string>()).set(key, value)
  }

  /** HTTP options are read from `chttpd`, else from the older `httpd`. */
  #lookUp(section: string, key: string): string | undefined {
    const own = this.text(section, key)
    if (own !== undefined || section !== 'chttpd' || key === 'port') return own
    return this.text('httpd', key)
  }

  #changed(): void {
    this.#parsed.clear()
    for (const listener of this.#listeners) listener()
  }
}

export interface ConfigurationChange {
  readonly section: string
  readonly key: string
  /** Undefined removes the value. */
  readonly value: string | undefined
}

/** Changes the configuration for all processes; resolves when every one of them has the change. */
export interface ConfigurationWriter {
  /** Returns the value before, if there was one. */
  change(change: ConfigurationChange, options: { persist: boolean }): Promise<string | undefined>
  /** Reads the ini files anew. */
  reload(): Promise<void>
}

/** Refuses a change that no file could hold or that a known setting cannot mean. */
export function checkChange({ section, key, value }: ConfigurationChange): void {
  if (/[[\]\r\n]/.test(section) || section === '') refuse('Invalid configuration section')
  if (/[[\]\r\n=]/.test(key) || key === '') refuse('Invalid configuration key')
  if (value === undefined) return
  if (/[\u0000-\u001f\u007f]/.test(value)) refuse('Invalid configuration value')
  const problem = valueProblem(section, key, value)
  if (problem !== undefined) refuse(problem)
}

/** Says in one line what is wrong with the first bad value of a known setting, if any is. */
export function firstProblem(configuration: Configuration): string | undefined {
  for (const setting of Object.values(SETTINGS)) {
    const value = configuration.text(setting.section, setting.key)
    const problem =
      value === undefined ? undefined : valueProblem(setting.section, setting.key, value)
    if (problem !== undefined) return problem
  }
  return undefined
}

function valueProblem(section: string, key: string, value: string): string | undefined {
  const name = canonicalSection(section)
  const known: Setting<unknown> | undefined = Object.values(SETTINGS).find(
    setting => setting.section === name && setting.key === key,
  )
  if (!known || known.parse(value) !== undefined) return undefined
  return `Invalid configuration value: [${section}] ${key} = ${value} (${known.about})`
}

function refuse(reason: string): never {
  throw new Failure('config_invalid', { reason })
}
