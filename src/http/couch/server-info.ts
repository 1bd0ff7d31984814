/** What the server says about itself: `/`, `/_up`, `/_uuids`, `/_membership`, `/_active_tasks`, the icon. */
import { createHash } from 'node:crypto'
import { Failure } from '../../base/errors.ts'
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import { API_LEVEL, VENDOR_NAME, VERSION } from '../../version.ts'
import { etagOf } from '../kit/conditional.ts'
import { emptyReply, type Reply } from '../kit/reply.ts'
import type { Exchange } from './exchange.ts'

const FEATURES = [
  'access-ready',
  'partitioned',
  'pluggable-storage-engines',
  'reshard',
  'scheduler',
]

export function welcome(exchange: Exchange): Reply {
  const { configuration } = exchange.server
  const configured = configuration.section('vendor')
  return exchange.value(200, {
    couchdb: 'Welcome',
    version: API_LEVEL,
    git_sha: GIT_SHA,
    uuid: configuration.get(SETTINGS.serverUuid),
    features: FEATURES,
    vendor: { name: VENDOR_NAME, version: VERSION, ...configured },
  })
}

/** Seven digits that change with our version; clients only show them. */
const GIT_SHA = createHash('sha1').update(VERSION).digest('hex').slice(0, 7)

/** A load balancer asks this: a node that cannot reach its data must not say that it is up. */
export function up(exchange: Exchange): MaybePromise<Reply> {
  const mode = exchange.server.configuration.get(SETTINGS.maintenanceMode)
  return after(exchange.server.node.checkStorage(), () =>
    mode === 'false'
      ? exchange.json(200, UP)
      : exchange.value(404, { status: mode === 'true' ? 'maintenance_mode' : mode }),
  )
}

const UP = '{"status":"ok","seeds":{}}'

export function uuids(exchange: Exchange): Reply {
  const countMax = exchange.server.configuration.get(SETTINGS.uuidMaxCount)
  const text = exchange.request.query.get('count') ?? '1'
  if (!/^\d+$/.test(text)) {
    throw new Failure('request_invalid', { reason: 'count must be a positive integer' })
  }
  if (Number(text) > countMax) {
    throw new Failure('request_invalid', { reason: 'count parameter too large' })
  }
  const body = JSON.stringify({ uuids: exchange.server.newIds(Number(text)) })
  const headers = ['Cache-Control', 'no-cache', 'ETag', etagOf(Buffer.from(body)), ...NEVER_CACHED]
  return { ...exchange.json(200, body, headers), withoutRequestHeaders: true }
}

const NEVER_CACHED = ['Expires', 'Mon, 01 Jan 1990 00:00:00 GMT', 'Pragma', 'no-cache']

export async function membership(exchange: Exchange): Promise<Reply> {
  const { alive, known } = await exchange.server.node.members()
  const reply = exchange.value(200, { all_nodes: alive, cluster_nodes: known })
  return { ...reply, withoutRequestHeaders: true }
}

export async function activeTasks(exchange: Exchange): Promise<Reply> {
  const tasks = await exchange.server.tasks()
  const { name } = exchange.server.node
  return exchange.value(
    200,
    tasks.map(task => ({ node: name, ...task })),
  )
}

const YEAR_S = 31_536_000

export function favicon(): Reply {
  const expires = new Date(Date.now() + YEAR_S * 1000).toUTCString()
  const headers = [
    'Cache-Control',
    `public, max-age=${YEAR_S}`,
    'Content-Type',
    'image/x-icon',
    'Expires',
    expires,
  ]
  return { ...emptyReply(200, headers), body: ICON }
}

/** 16 by 16 points, a white cross on teal, one bit of transparency: made here so that no file has to be found. */
const ICON = makeIcon()

function makeIcon(): Buffer {
  const size = 16
  const pixels = Buffer.alloc(size * size * 4)
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const isCross = (x > 5 && x < 10 && y > 2 && y < 13) || (y > 5 && y < 10 && x > 2 && x < 13)
      pixels.writeUInt32LE(isCross ? 0xffffffff : 0xff0f766e, (y * size + x) * 4)
    }
  }
  const header = Buffer.alloc(40)
  header.writeUInt32LE(40, 0)
  header.writeInt32LE(size, 4)
  header.writeInt32LE(size * 2, 8)
  header.writeUInt16LE(1, 12)
  header.writeUInt16LE(32, 14)
  const mask = Buffer.alloc(size * 4)
  const image = Buffer.concat([header, pixels, mask])
  const directory = Buffer.alloc(22)
  directory.writeUInt16LE(1, 2)
  directory.writeUInt16LE(1, 4)
  directory[6] = size
  directory[7] = size
  directory.writeUInt16LE(1, 10)
  directory.writeUInt16LE(32, 12)
  directory.writeUInt32LE(image.length, 14)
  directory.writeUInt32LE(directory.length, 18)
  return Buffer.concat([directory, image])
}
