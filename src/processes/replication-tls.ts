/**
 * How replications over https show who they are and check who is there: certificates by the settings of the section
 * `replicator`. They are read anew for every replication, because certificates are replaced while servers run.
 */
import { readFileSync } from 'node:fs'
import { Failure } from '../base/errors.ts'
import type { Configuration } from '../core/configuration/configuration.ts'
import type { Setting } from '../core/configuration/setting-kinds.ts'
import { SETTINGS } from '../core/configuration/settings.ts'
import type { ClientTls } from '../core/replication/http-client.ts'

/** Fails with `replication_failed` when a file cannot be read. */
export function readReplicationTls(configuration: Configuration): ClientTls {
  const read = (setting: Setting<string>): Buffer | undefined => {
    const path = configuration.get(setting)
    return path === '' ? undefined : readPem(path, setting.key)
  }
  return {
    verify: configuration.get(SETTINGS.replicationVerifyTls),
    ca: read(SETTINGS.replicationCaFile),
    cert: read(SETTINGS.replicationCertFile),
    key: read(SETTINGS.replicationKeyFile),
    passphrase: configuration.get(SETTINGS.replicationKeyPassword) || undefined,
  }
}

function readPem(path: string, key: string): Buffer {
  try {
    return readFileSync(path)
  } catch (thrown) {
    // Whoever hears of it need not know where files are.
    throw new Failure(
      'replication_failed',
      { reason: `[replicator] ${key} cannot be read` },
      thrown,
    )
  }
}
