/**
 * What clients ask before anything else: what is deployed, whether everything is there, which types of attachments the
 * database compresses, links for phones.
 */
import { assetLinksOf } from '../../app/settings/asset-links.ts'
import { deployInfoOf } from '../../app/upgrades/deploy-info.ts'
import { Failure } from '../../base/errors.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange } from './app-exchange.ts'

export async function getDeployInfo(exchange: AppExchange): Promise<Reply> {
  const { data } = exchange.context
  const design = await data.get(`_design/${data.name}`)
  return exchange.json(design === undefined ? { version: 'unknown' } : deployInfoOf(design))
}

/** Whoever gets an answer has come past the start: a worker listens when everything is installed. */
export const getSetupPoll = (exchange: AppExchange): Reply =>
  exchange.json({
    ready: true,
    handler: 'svc-api',
    version: exchange.application.version,
    detail: 'All required services are running normally',
  })

const STARTUP_STEPS = ['checks', 'install', 'index', 'config', 'migrate', 'forms'] as const

/** The same for those who want to see steps. */
export function getStartupProgress(exchange: AppExchange): Reply {
  const step = (name: string) => ({
    display: true,
    started: true,
    completed: true,
    translation: `api.startup.${name}`,
    text: name,
  })
  const actions = Object.fromEntries(STARTUP_STEPS.map(name => [name, step(name)]))
  return exchange.json({ actions, completed: true })
}

export function getAttachmentSettings(exchange: AppExchange): Reply {
  const { configuration } = exchange.application.server
  return exchange.json({
    ...configuration.section('attachments'),
    compressible_types: configuration.get(SETTINGS.compressibleTypes),
    compression_level: String(configuration.get(SETTINGS.compressionLevel)),
  })
}

export function getAssetLinks(exchange: AppExchange): Reply {
  const links = assetLinksOf(exchange.context.settings)
  if (links === undefined) {
    throw new Failure('route_missing', { reason: 'No assetlinks.json configured' })
  }
  return exchange.json(links)
}
