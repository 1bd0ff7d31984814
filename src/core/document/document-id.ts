/** What a document may be called. The texts are CouchDB's, and so is the order of the checks. */
import { Failure } from '../../base/errors.ts'
import { isWellFormed } from '../../base/json/well-formed.ts'

/** Fails with `document_id_invalid`. `bytesMax` is the configured length limit, if there is one. */
export function validateDocumentId(id: unknown, bytesMax?: number): asserts id is string {
  const reason = complaintAbout(id, bytesMax)
  if (reason !== undefined) throw new Failure('document_id_invalid', { reason })
}

function complaintAbout(id: unknown, bytesMax: number | undefined): string | undefined {
  if (typeof id !== 'string') return 'Document id must be a string'
  if (id === '') return 'Document id must not be empty'
  if (id === '_design/' || id === '_local/') return `Illegal document id \`${id}\``
  if (bytesMax !== undefined && Buffer.byteLength(id) > bytesMax) return 'Document id is too long'
  if (!isWellFormed(id)) return 'Document id must be valid UTF-8'
  if (id.charCodeAt(0) === 0x5f && !id.startsWith('_design/') && !id.startsWith('_local/')) {
    return 'Only reserved document ids may start with underscore.'
  }
  return undefined
}

/** What stands before the first colon; undefined where there is none, and for design and local documents. */
export function partitionOf(id: string): string | undefined {
  if (isExempt(id)) return undefined
  const colon = id.indexOf(':')
  return colon < 0 ? undefined : id.slice(0, colon)
}

/**
 * The further rule of partitioned databases, for an id that obeys the others: `partition:rest`, and the rest could be
 * an id by itself. Fails with `document_id_invalid` or `partition_invalid`.
 */
export function validatePartitionedId(id: string): void {
  if (isExempt(id)) return
  const partition = partitionOf(id)
  if (partition === undefined) throw withoutPartition()
  validatePartition(partition)
  validateDocumentId(id.slice(partition.length + 1))
}

/** Nothing can be found under an id without a partition, so asking for one is a mistake. */
export function requirePartition(id: string): void {
  if (id.charCodeAt(0) !== 0x5f && !id.includes(':')) throw withoutPartition()
}

/** Fails with `partition_invalid`. */
export function validatePartition(partition: string): void {
  const reason = complaintAboutPartition(partition)
  if (reason !== undefined) throw new Failure('partition_invalid', { reason })
}

function complaintAboutPartition(partition: string): string | undefined {
  if (partition === '') return 'Partition must not be empty'
  if (partition.charCodeAt(0) === 0x5f) return 'Partition must not start with an underscore'
  if (!isWellFormed(partition)) return 'Partition must be valid UTF-8'
  return partition.includes(':') ? 'Partition must not contain a colon' : undefined
}

const isExempt = (id: string): boolean =>
  id.charCodeAt(0) === 0x5f && (id.startsWith('_design/') || id.startsWith('_local/'))

const withoutPartition = (): Failure =>
  new Failure('document_id_invalid', { reason: 'Doc id must be of form partition:id' })
