/**
 * The primary's side of the configuration: one change after the other, on disk first, then in every process, and only
 * then acknowledged. So whoever reads after the acknowledgement, in whichever process, reads the new value.
 */

import { Failure } from '../base/errors.ts'
import type { IniSections } from '../base/ini.ts'
import { parseAdminPassword } from '../core/auth/password.ts'
import type { ConfigurationWriter } from '../core/configuration/configuration.ts'
import {
  Configuration as Candidate,
  type Configuration,
  type ConfigurationChange,
  firstProblem,
} from '../core/configuration/configuration.ts'
import { authProblem } from '../core/operations/auth-configuration.ts'
import type { ConfigurationSource } from './shared-configuration.ts'

export interface ConfigurationAudience {
  apply(change: ConfigurationChange): Promise<void>
  replace(): Promise<void>
}

export class ConfigurationOwner implements ConfigurationWriter {
  readonly #configuration: Configuration
  readonly #source: ConfigurationSource
  readonly #overrides: readonly (readonly [string, string, string])[]
  readonly #audience: ConfigurationAudience
  readonly #hashAdmin: (password: string) => Promise<string>
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: {
    configuration: Configuration
    source: ConfigurationSource
    overrides: readonly (readonly [string, string, string])[]
    audience: ConfigurationAudience
    /** Makes what is stored of an admin's plain password. */
    hashAdmin: (password: string) => Promise<string>
  }) {
    this.#hashAdmin = parts.hashAdmin
    this.#configuration = parts.configuration
    this.#source = parts.source
    this.#overrides = parts.overrides
    this.#audience = parts.audience
  }

  change(
    change: ConfigurationChange,
    { persist }: { persist: boolean },
  ): Promise<string | undefined> {
    return this.#inTurn(async () => {
      const old = this.#configuration.text(change.section, change.key)
      if (persist) await this.#source.save(change)
      this.#configuration.apply(change)
      await this.#audience.apply(change)
      return old
    })
  }

  reload(): Promise<void> {
    return this.#inTurn(async () => {
      const sections = await this.#source.load()
      const candidate = new Candidate(sections)
      const problem = firstProblem(candidate) ?? authProblem(candidate)
      if (problem !== undefined) throw new Failure('config_invalid', { reason: problem })
      await this.#hashAdmins(sections)
      this.#configuration.replace(sections)
      for (const [section, key, value] of this.#overrides) {
        this.#configuration.apply({ section, key, value })
      }
      await this.#audience.replace()
    })
  }

  /** What another node changed: it is kept already. */
  follow(news: () => Promise<readonly ConfigurationChange[]>): Promise<void> {
    return this.#inTurn(async () => {
      for (const change of await news()) {
        if (this.#isOverridden(change)) continue
        this.#configuration.apply(change)
        await this.#audience.apply(change)
      }
    })
  }

  #isOverridden({ section, key }: ConfigurationChange): boolean {
    return this.#overrides.some(([name, word]) => name === section && word === key)
  }

  /** Somebody wrote a password into the file: it does not stay there. */
  async #hashAdmins(sections: IniSections): Promise<void> {
    const admins = sections.get('admins')
    for (const [key, value] of admins ?? []) {
      if (parseAdminPassword(value) !== undefined) continue
      const hashed = await this.#hashAdmin(value)
      await this.#source.save({ section: 'admins', key, value: hashed })
      admins?.set(key, hashed)
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => {})
    return result
  }
}
