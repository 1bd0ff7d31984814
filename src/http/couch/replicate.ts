/** `POST /_replicate`: replications that a request starts, waits for and cancels. */
import { Failure } from '../../base/errors.ts'
import type { ReplicateAnswer } from '../../core/operations/replication-operations.ts'
import { type Checkpoint, withNumericSequences } from '../../core/replication/checkpoint.ts'
import type { Reply } from '../kit/reply.ts'
import type { Exchange } from './exchange.ts'

export async function replicate(exchange: Exchange): Promise<Reply> {
  const { request, dialect } = exchange
  const isPost = request.method === 'POST'
  if (!isPost && dialect.replicateMethodFirst) throw onlyPost()
  if (isPost) exchange.requireJsonType()
  const bytes = await request.bytes()
  if (bytes.length === 0) throw new Failure('request_invalid', { reason: 'Missing request body' })
  if (!isPost) throw onlyPost()
  const { replication } = exchange.server
  return present(exchange, await replication.replicate(exchange.user, readText(bytes)))
}

const onlyPost = (): Failure =>
  new Failure('method_not_allowed', { allow: 'POST', reason: 'Only POST allowed' })

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function readText(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch (thrown) {
    throw new Failure('json_invalid', {}, thrown)
  }
}

function present(exchange: Exchange, answer: ReplicateAnswer): Reply {
  switch (answer.kind) {
    case 'unrecorded':
      return exchange.value(200, { ok: true, use_checkpoints: false })
    case 'started':
      return exchange.value(202, { ok: true, _local_id: answer.id })
    case 'cancelled':
      return exchange.value(200, { ok: true, _local_id: answer.id })
    default: {
      const checkpoint = answer.checkpoint as unknown as Checkpoint
      const shown = exchange.dialect.numericSequences
        ? withNumericSequences(checkpoint)
        : checkpoint
      const nothingNew = answer.kind === 'nothing_new' ? { no_changes: true } : {}
      return exchange.value(200, { ok: true, ...nothingNew, ...shown })
    }
  }
}
