/**
 * A stored document as selectors and indexes see it: parsed, with the special members that somebody asks for and no
 * others, because most ask for none.
 */

import { functionDocument } from '../design/function-document.ts'
import { decodeAttachments } from '../document/attachment.ts'
import type { Revision } from '../document/revision.ts'
import type { JsonValue } from './json-value.ts'

export interface WantedMembers {
  /** `_id` alone. */
  readonly id: boolean
  /** Any other special member. */
  readonly special: boolean
  readonly conflicts: boolean
}

export function selectorDocument(
  stored: {
    readonly id: string
    readonly winner: Revision
    readonly body: Buffer
    readonly attachments: Buffer
  },
  wanted: WantedMembers,
): JsonValue {
  if (wanted.special) {
    const { id, winner: rev, body } = stored
    const attachments = decodeAttachments(stored.attachments)
    return JSON.parse(functionDocument({ id, rev, body, attachments }).toString()) as JsonValue
  }
  const document = JSON.parse(stored.body.toString())
  if (wanted.id) document._id = stored.id
  return document as JsonValue
}
