/** The main database for those who are no admins: whoever writes must be an editor. */
import type { User } from '../../core/auth/user.ts'
import type { EditResult } from '../../core/database/commit-edits.ts'
import type { EditMode } from '../../core/document/apply-edit.ts'
import {
  type DatabaseParts,
  PlainDatabaseOperations,
} from '../../core/operations/database-operations.ts'
import { type DocumentWrite, isLocal } from '../../core/operations/write-documents.ts'
import { insufficient } from '../access/access-rule.ts'

export interface EditorsParts {
  readonly mayEdit: (user: User) => Promise<boolean>
}

export class EditorsOperations extends PlainDatabaseOperations {
  readonly #mayEdit: EditorsParts['mayEdit']

  constructor(opened: DatabaseParts, { mayEdit }: EditorsParts) {
    super(opened)
    this.#mayEdit = mayEdit
  }

  override async writeDocuments(
    writes: readonly DocumentWrite[],
    mode: EditMode,
  ): Promise<EditResult[]> {
    // Checkpoints of replications are written by readers too.
    const isFree = writes.every(({ id }) => isLocal(id))
    if (isFree || (await this.#mayEdit(this.user))) return super.writeDocuments(writes, mode)
    for (const { attachments } of writes) await this.discardAttachments(attachments ?? [])
    throw insufficient()
  }
}
