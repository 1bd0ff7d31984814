/**
 * What an attachment may be called. Slashes are fine; a leading underscore would hide it behind an
 * action.
 */
import { Failure } from '../../base/errors.ts'
import { isWellFormed } from '../../base/json/well-formed.ts'

/** The complaint, if there is one. */
export function attachmentNameFailure(name: string): Failure | undefined {
  if (name.startsWith('_')) {
    const reason = `Attachment name '${name}' starts with prohibited character '_'`
    return new Failure('request_invalid', { reason })
  }
  if (!isWellFormed(name)) {
    return new Failure('request_invalid', { reason: 'Attachment name is not UTF-8 encoded' })
  }
  return undefined
}

export function validateAttachmentName(name: string): void {
  const failure = attachmentNameFailure(name)
  if (failure !== undefined) throw failure
}
