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
