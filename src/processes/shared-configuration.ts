/**
 * The configuration of nodes that share an engine: in a store of that engine, so that all agree. What is about one machine
 * (addresses, ports, certificates, the log) stays in that node's own `local.ini`. The first node to start brings what its
 * `local.ini` says; from then on the store is what counts.
 */
import { isFailure } from '../base/errors.ts'
import { getOrAdd } from '../base/get-or-add.ts'
import type { IniSections } from '../base/ini.ts'
import type { ConfigurationChange } from '../core/configuration/configuration.ts'
import type { Engine, Range, Store } from '../engine/engine.ts'
import type { ConfigFiles } from './config-files.ts'

export const SETTINGS_STORE = 'settings'
const IMPORTED = Buffer.of(0x01)
const VALUE = 0x02
const VALUES: Range = { start: Buffer.of(VALUE), end: Buffer.of(VALUE + 1) }
const VALUES_MAX = 100_000

/** Of every machine its own. */
const OWN_SECTIONS = new Set(['ssl', 'log'])
const OWN_KEYS = new Set(['chttpd/port', 'chttpd/bind_address', 'httpd/port', 'httpd/bind_address'])

const isOwn = (section: string, key: string): boolean =>
  OWN_SECTIONS.has(section) || OWN_KEYS.has(`${section}/${key}`)

/** What is kept of the configuration between starts, wherever that is. */
export interface ConfigurationSource {
  load(): Promise<IniSections>
  save(change: ConfigurationChange): Promise<void>
  /** Keeps a value unless there is one by then; the one that counts. */
  keepFirst(section: string, key: string, value: string): Promise<string>
}

export class FileConfiguration implements ConfigurationSource {
  readonly #files: ConfigFiles

  constructor(files: ConfigFiles) {
    this.#files = files
  }

  async load(): Promise<IniSections> {
    return this.#files.load()
  }

  async save(change: ConfigurationChange): Promise<void> {
    this.#files.save(change)
  }

  async keepFirst(section: string, key: string, value: string): Promise<string> {
    this.#files.save({ section, key, value })
    return value
  }
}

type Values = ReadonlyMap<string, string>

export class SharedConfiguration implements ConfigurationSource {
  readonly #files: ConfigFiles
  readonly #store: Store
  /** Told after each change that others should hear of. */
  onSaved: (() => void) | undefined
  /** What this node knows of the store. */
  #known: Values = new Map()

  static async open(engine: Engine, files: ConfigFiles): Promise<SharedConfiguration> {
    try {
      await engine.createStore(SETTINGS_STORE)
    } catch (thrown) {
      if (!isFailure(thrown, 'store_exists')) throw thrown
    }
    const shared = new SharedConfiguration(engine.store(SETTINGS_STORE), files)
    await shared.#importOnce()
    return shared
  }

  private constructor(store: Store, files: ConfigFiles) {
    this.#store = store
    this.#files = files
  }

  async load(): Promise<IniSections> {
    const sections = this.#files.loadDefaults()
    const put = (section: string, key: string, value: string): void => {
      getOrAdd(sections, section, () => new Map<string, string>()).set(key, value)
    }
    for (const [section, values] of this.#files.loadLocal()) {
      for (const [key, value] of values) if (isOwn(section, key)) put(section, key, value)
    }
    this.#known = await this.#read()
    for (const [name, value] of this.#known) {
      const { section, key } = parseName(name)
      put(section, key, value)
    }
    return sections
  }

  async save({ section, key, value }: ConfigurationChange): Promise<void> {
    if (isOwn(section, key)) {
      this.#files.save({ section, key, value })
      return
    }
    const name = nameOf(section, key)
    await this.#store.write(function* (tx) {
      if (value === undefined) tx.delete(keyOf(name))
      else tx.put(keyOf(name), Buffer.from(value))
    })
    const known = new Map(this.#known)
    if (value === undefined) known.delete(name)
    else known.set(name, value)
    this.#known = known
    this.onSaved?.()
  }

  /** Keeps a value unless it is about one machine. */
  async saveShared(change: ConfigurationChange): Promise<void> {
    if (!isOwn(change.section, change.key)) await this.save(change)
  }

  async keepFirst(section: string, key: string, value: string): Promise<string> {
    if (isOwn(section, key)) {
      this.#files.save({ section, key, value })
      return value
    }
    const at = keyOf(nameOf(section, key))
    return await this.#store.write(function* (tx) {
      const present = yield* tx.get(at)
      if (present !== undefined) return present.toString()
      tx.put(at, Buffer.from(value))
      return value
    })
  }

  /** What other nodes changed since this one looked last. */
  async news(): Promise<ConfigurationChange[]> {
    const before = this.#known
    const now = await this.#read()
    this.#known = now
    const changes: ConfigurationChange[] = []
    for (const [name, value] of now) {
      if (before.get(name) !== value) changes.push({ ...parseName(name), value })
    }
    for (const name of before.keys()) {
      if (!now.has(name)) changes.push({ ...parseName(name), value: undefined })
    }
    return changes
  }

  async #read(): Promise<Values> {
    const rows = await this.#store.read(tx => tx.scan(VALUES, { limit: VALUES_MAX }))
    return new Map(rows.map(({ key, value }) => [key.toString('utf8', 1), value.toString()]))
  }

  async #importOnce(): Promise<void> {
    const local = this.#files.loadLocal()
    await this.#store.write(function* (tx) {
      if ((yield* tx.get(IMPORTED)) !== undefined) return
      tx.put(IMPORTED, Buffer.alloc(0))
      for (const [section, values] of local) {
        for (const [key, value] of values) {
          if (!isOwn(section, key)) tx.put(keyOf(nameOf(section, key)), Buffer.from(value))
        }
      }
    })
  }
}

const nameOf = (section: string, key: string): string => JSON.stringify([section, key])

function parseName(name: string): { section: string; key: string } {
  const [section, key] = JSON.parse(name) as [string, string]
  return { section, key }
}

const keyOf = (name: string): Buffer => Buffer.concat([Buffer.of(VALUE), Buffer.from(name)])
