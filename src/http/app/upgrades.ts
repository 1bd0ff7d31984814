/**
 * `/api/v1/upgrade` and `/api/v2/upgrade`: another version of the application's design documents, staged beside those in
 * use and then put into their place. Everything is only begun here; `svc-upgrade` tells how it goes.
 */
import { parseBuildName } from '../../app/upgrades/build.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange, AppHandler } from './app-exchange.ts'

const begins =
  (action: 'stage' | 'install'): AppHandler =>
  async (exchange): Promise<Reply> => {
    const build = parseBuildName(await exchange.jsonBodyIfAny())
    await exchange.application.upgrades.begin(action, build, nameOf(exchange))
    return done(exchange)
  }

export const postUpgrade = begins('install')
export const postStage = begins('stage')

/** What is completed is what was staged, whatever the body says. */
export async function postComplete(exchange: AppExchange): Promise<Reply> {
  await exchange.application.upgrades.complete(nameOf(exchange))
  return done(exchange)
}

export async function deleteUpgrade(exchange: AppExchange): Promise<Reply> {
  await exchange.application.upgrades.abort()
  return done(exchange)
}

export async function getUpgrade(exchange: AppExchange): Promise<Reply> {
  return exchange.json(await exchange.application.upgrades.read())
}

export const getCanUpgrade = (exchange: AppExchange): Reply =>
  exchange.json({ ok: exchange.application.upgrades.canUpgrade })

const done = (exchange: AppExchange): Reply => exchange.json({ ok: true })

const nameOf = ({ user }: AppExchange): string => user.name ?? ''
