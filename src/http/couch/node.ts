/** `/_node/{name}`: the node's name and its configuration; and `/_cluster_setup`. */
import { Failure } from '../../base/errors.ts'
import { HEADER_NAMES } from '../../base/product-names.ts'
import type { Reply } from '../kit/reply.ts'
import { type Exchange, parseJsonBytes } from './exchange.ts'

export function incompleteNode(): Reply {
  throw new Failure('request_invalid', { reason: 'Incomplete path to _node request' })
}

export async function nodeName(exchange: Exchange): Promise<Reply> {
  const name = exchange.params.get('node')
  const { node } = exchange.server
  if ((await node.members()).known.includes(name)) return exchange.value(200, { name })
  await requireThisNode(exchange)
  return exchange.value(200, { name: node.name })
}

export async function getConfig(exchange: Exchange): Promise<Reply> {
  await requireThisNode(exchange)
  return exchange.value(200, exchange.server.configuration.sections())
}

export async function getConfigSection(exchange: Exchange): Promise<Reply> {
  await requireThisNode(exchange)
  const { params, server } = exchange
  return exchange.value(200, server.configuration.section(params.get('section')))
}

export async function getConfigValue(exchange: Exchange): Promise<Reply> {
  await requireThisNode(exchange)
  const { params, server } = exchange
  const value = server.configuration.text(params.get('section'), params.get('key'))
  if (value === undefined) throw new Failure('config_value_missing')
  return exchange.value(200, value)
}

export async function putConfigValue(exchange: Exchange): Promise<Reply> {
  await requireThisNode(exchange)
  const { params, request } = exchange
  const value = parseJsonBytes(await request.bytes({ limitBytes: CONFIG_BYTES_MAX }))
  if (typeof value !== 'string') {
    throw new Failure('config_invalid', { reason: 'a JSON string expected' })
  }
  const old = await exchange.server.node.changeConfig({
    section: params.get('section'),
    key: params.get('key'),
    value,
    persist: isPersistent(exchange),
    raw: request.query.get('raw') === 'true',
  })
  return exchange.value(200, old ?? '')
}

export async function deleteConfigValue(exchange: Exchange): Promise<Reply> {
  await requireThisNode(exchange)
  const { params, server } = exchange
  const at = { section: params.get('section'), key: params.get('key') }
  if (server.configuration.text(at.section, at.key) === undefined) {
    throw new Failure('config_value_missing')
  }
  const persist = isPersistent(exchange)
  const old = await server.node.changeConfig({ ...at, value: undefined, persist, raw: false })
  return exchange.value(200, old ?? '')
}

export async function reloadConfig(exchange: Exchange): Promise<Reply> {
  await requireThisNode(exchange)
  await exchange.server.node.reloadConfig()
  return exchange.ok()
}

export async function getClusterSetup(exchange: Exchange): Promise<Reply> {
  const given = exchange.request.query.get('ensure_dbs_exist')
  const ensured = given === undefined ? undefined : parseJsonBytes(Buffer.from(given))
  if (ensured !== undefined && !isNames(ensured)) {
    const reason = '`ensure_dbs_exist` must be an array of database names.'
    throw new Failure('request_invalid', { reason })
  }
  const names = ensured ?? exchange.dialect.systemDatabases
  return exchange.value(200, { state: await exchange.server.node.clusterState(names) })
}

export async function postClusterSetup(exchange: Exchange): Promise<Reply> {
  exchange.requireJsonType()
  await exchange.server.node.setUpCluster(exchange.user, await exchange.jsonObject())
  return exchange.ok(201)
}

const CONFIG_BYTES_MAX = 1024 * 1024

/** Of others it is known that they are there; what they say about themselves is asked of them. */
export async function requireThisNode(exchange: Exchange): Promise<void> {
  const name = exchange.params.get('node')
  const { node } = exchange.server
  if (name === '_local' || name === node.name) return
  if ((await node.members()).known.includes(name)) {
    throw new Failure('not_supported', { subject: name, reason: `${name} answers this itself.` })
  }
  throw new Failure('node_missing', { subject: name, reason: `no such node: ${name}` })
}

const isPersistent = (exchange: Exchange): boolean =>
  exchange.request.firstHeader(HEADER_NAMES.persist) !== 'false'

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every(each => typeof each === 'string')
